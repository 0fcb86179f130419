// Upper, lower and title case with the mappings that make one character several.
#include <algorithm>
#include <iterator>

#include <utf8proc.h>

#include "tokenizer/jinja/text.h"

namespace takt::jinja {

namespace {

struct Mapping {
    uint32_t from;
    const char* upper;
    const char* title;
};
// The unconditional multi-character mappings of Unicode's SpecialCasing.txt, Greek with iota left out.
constexpr Mapping kMappings[] = {
    {0x00DF, "SS", "Ss"},
    {0x0149, "\u02BCN", "\u02BCN"},
    {0x01F0, "J\u030C", "J\u030C"},
    {0x0390, "\u0399\u0308\u0301", "\u0399\u0308\u0301"},
    {0x03B0, "\u03A5\u0308\u0301", "\u03A5\u0308\u0301"},
    {0x0587, "\u0535\u0552", "\u0535\u0582"},
    {0x1E96, "H\u0331", "H\u0331"},
    {0x1E97, "T\u0308", "T\u0308"},
    {0x1E98, "W\u030A", "W\u030A"},
    {0x1E99, "Y\u030A", "Y\u030A"},
    {0x1E9A, "A\u02BE", "A\u02BE"},
    {0xFB00, "FF", "Ff"},
    {0xFB01, "FI", "Fi"},
    {0xFB02, "FL", "Fl"},
    {0xFB03, "FFI", "Ffi"},
    {0xFB04, "FFL", "Ffl"},
    {0xFB05, "ST", "St"},
    {0xFB06, "ST", "St"},
};

const Mapping* special(uint32_t c) {
    if (c < 0x80) return nullptr;
    const auto* found = std::find_if(std::begin(kMappings), std::end(kMappings),
                                     [&](const Mapping& m) { return m.from == c; });
    return found == std::end(kMappings) ? nullptr : found;
}

void append_upper(std::string& out, uint32_t c) {
    if (const Mapping* m = special(c)) {
        out += m->upper;
    } else {
        append_utf8(out, static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
    }
}

void append_title(std::string& out, uint32_t c) {
    if (const Mapping* m = special(c)) {
        out += m->title;
    } else {
        append_utf8(out, static_cast<uint32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
    }
}

bool case_ignorable(uint32_t c) {
    const auto k = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2019 || k == UTF8PROC_CATEGORY_MN ||
           k == UTF8PROC_CATEGORY_ME || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_LM ||
           k == UTF8PROC_CATEGORY_SK;
}

// Sigma is written differently at the end of a word.
bool final_sigma(std::string_view text, size_t pos) {
    size_t before = pos;
    bool cased = false;
    while (before > 0 && !cased) {
        --before;
        while (!is_char_start(text[before])) --before;
        const uint32_t c = char_at(text, before).code_point;
        cased = is_cased(c);
        if (!cased && !case_ignorable(c)) return false;
    }
    if (!cased) return false;
    for (size_t after = pos + 2; after < text.size();) {
        const Utf8Step c = char_at(text, after);
        if (is_cased(c.code_point)) return false;
        if (!case_ignorable(c.code_point)) break;
        after += c.size;
    }
    return true;
}

void append_lower(std::string& out, std::string_view text, size_t pos, uint32_t c) {
    if (c == 0x03A3 && final_sigma(text, pos)) {
        out += "\u03C2";
    } else if (c == 0x0130) {
        out += "i\u0307";
    } else {
        append_utf8(out, static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
}

template <typename Append>
std::string map_chars(std::string_view text, const Append& append) {
    std::string out;
    out.reserve(text.size());
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Step c = char_at(text, pos);
        append(out, pos, c.code_point);
        pos += c.size;
    }
    return out;
}

}  // namespace

std::string upper(std::string_view text) {
    return map_chars(text, [](std::string& out, size_t, uint32_t c) { append_upper(out, c); });
}

std::string lower(std::string_view text) {
    return map_chars(text,
                     [&](std::string& out, size_t pos, uint32_t c) { append_lower(out, text, pos, c); });
}

std::string title(std::string_view text) {
    bool after_cased = false;
    return map_chars(text, [&](std::string& out, size_t pos, uint32_t c) {
        if (after_cased) {
            append_lower(out, text, pos, c);
        } else {
            append_title(out, c);
        }
        after_cased = is_cased(c);
    });
}

std::string capitalize(std::string_view text) {
    return map_chars(text, [&](std::string& out, size_t pos, uint32_t c) {
        if (pos == 0) {
            append_title(out, c);
        } else {
            append_lower(out, text, pos, c);
        }
    });
}

std::string swapcase(std::string_view text) {
    return map_chars(text, [&](std::string& out, size_t pos, uint32_t c) {
        if (is_upper(c)) {
            append_lower(out, text, pos, c);
        } else if (is_lower(c)) {
            append_upper(out, c);
        } else {
            append_utf8(out, c);
        }
    });
}

}  // namespace takt::jinja
