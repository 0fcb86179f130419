// NFC over utf8proc's tables. Marks are put in order here: utf8proc's own way is quadratic in a run of them.
#include "tokenizer/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace takt {
namespace {

// Below this every character is a starter that composes with nothing before it.
constexpr uint32_t kFirstMark = 0x300;

void decompose(std::string_view text, std::vector<utf8proc_int32_t>& out) {
    out.clear();
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Step step = utf8_step(text, pos);
        utf8proc_int32_t parts[8];
        int bound_class = 0;
        const utf8proc_ssize_t count = utf8proc_decompose_char(
            static_cast<utf8proc_int32_t>(step.code_point), parts, 8,
            static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &bound_class);
        if (count > 0 && count <= 8) {
            out.insert(out.end(), parts, parts + count);
        } else {
            out.push_back(static_cast<utf8proc_int32_t>(step.code_point));
        }
        pos += step.size;
    }
}

utf8proc_propval_t combining_class(utf8proc_int32_t code_point) {
    return utf8proc_get_property(code_point)->combining_class;
}

// Each run of marks by combining class, in the order of the text within a class.
void sort_marks(std::vector<utf8proc_int32_t>& text) {
    std::vector<std::pair<uint64_t, utf8proc_int32_t>> run;  // class << 32 | place, mark
    for (size_t pos = 0; pos < text.size();) {
        run.clear();
        size_t end = pos;
        for (; end < text.size() && combining_class(text[end]) != 0; ++end) {
            run.emplace_back(static_cast<uint64_t>(combining_class(text[end])) << 32 | (end - pos),
                             text[end]);
        }
        if (run.size() > 1) {
            std::sort(run.begin(), run.end());
            for (size_t i = 0; i < run.size(); ++i) text[pos + i] = run[i].second;
        }
        pos = end + 1;
    }
}

}  // namespace

std::string_view normalize_nfc(std::string_view text, std::string& buffer) {
    // U+0300 begins with CC.
    const auto has_marks = [](char byte) { return static_cast<uint8_t>(byte) >= 0xCC; };
    if (std::none_of(text.begin(), text.end(), has_marks)) return text;
    buffer.clear();
    buffer.reserve(text.size());
    std::vector<utf8proc_int32_t> work;
    // A block is one low character and the high ones behind it: nothing composes or moves across its borders.
    for (size_t pos = 0; pos < text.size();) {
        size_t end = pos + utf8_step(text, pos).size;
        bool alone = utf8_step(text, pos).code_point < kFirstMark;
        while (end < text.size()) {
            const Utf8Step step = utf8_step(text, end);
            if (step.code_point < kFirstMark) break;
            alone = false;
            end += step.size;
        }
        if (alone) {
            buffer.append(text, pos, end - pos);
        } else {
            decompose(text.substr(pos, end - pos), work);
            sort_marks(work);
            const utf8proc_ssize_t count =
                utf8proc_normalize_utf32(work.data(), static_cast<utf8proc_ssize_t>(work.size()),
                                         static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
            for (utf8proc_ssize_t i = 0; i < count; ++i) append_utf8(buffer, static_cast<uint32_t>(work[i]));
        }
        pos = end;
    }
    return buffer;
}

}  // namespace takt
