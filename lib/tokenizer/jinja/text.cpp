// Classes of characters, stripping, searching and splitting as Python does it.
#include "tokenizer/jinja/text.h"

#include <algorithm>
#include <limits>

#include <utf8proc.h>

namespace takt::jinja {

size_t count_chars(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), is_char_start));
}

size_t byte_of_char(std::string_view text, size_t index) {
    size_t pos = 0;
    while (index > 0 && pos < text.size()) {
        pos += char_at(text, pos).size;
        --index;
    }
    return pos;
}

bool is_space(uint32_t c) {
    if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

namespace {

utf8proc_category_t category(uint32_t c) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

}  // namespace

bool is_alpha(uint32_t c) {
    const auto k = category(c);
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(uint32_t c) {
    return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_word(uint32_t c) {
    if (c < 0x80) return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    const auto k = category(c);
    return is_alpha(c) || (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO);
}

bool is_printable(uint32_t c) {
    if (c < 0x80) return c >= 32 && c != 127;
    switch (category(c)) {
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
        case UTF8PROC_CATEGORY_ZS:
            return false;
        default:
            return true;
    }
}

bool is_upper(uint32_t c) {
    return category(c) == UTF8PROC_CATEGORY_LU || (c >= 0x2160 && c <= 0x216F) ||
           (c >= 0x24B6 && c <= 0x24CF);
}

bool is_lower(uint32_t c) {
    return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA || (c >= 0x2170 && c <= 0x217F) ||
           (c >= 0x24D0 && c <= 0x24E9) || (c >= 0x2B0 && c <= 0x2B8);
}
bool is_cased(uint32_t c) {
    return is_upper(c) || is_lower(c) || category(c) == UTF8PROC_CATEGORY_LT;
}

bool all_chars(std::string_view text, bool (*test)(uint32_t)) {
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Step c = char_at(text, pos);
        if (!test(c.code_point)) return false;
        pos += c.size;
    }
    return !text.empty();
}

namespace {

bool all_of_case(std::string_view text, bool (*wanted)(uint32_t)) {
    bool seen = false;
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Step c = char_at(text, pos);
        if (wanted(c.code_point)) {
            seen = true;
        } else if (is_cased(c.code_point)) {
            return false;
        }
        pos += c.size;
    }
    return seen;
}

// Strips characters for which drop says so.
template <typename Drop>
std::string_view strip_while(std::string_view text, Side side, const Drop& drop) {
    size_t begin = 0;
    size_t end = text.size();
    while (side != Side::right && begin < end) {
        const Utf8Step c = char_at(text, begin);
        if (!drop(c.code_point)) break;
        begin += c.size;
    }
    while (side != Side::left && begin < end) {
        size_t last = end - 1;
        while (!is_char_start(text[last])) --last;
        if (!drop(char_at(text, last).code_point)) break;
        end = last;
    }
    return text.substr(begin, end - begin);
}

}  // namespace

bool all_upper(std::string_view text) {
    return all_of_case(text, is_upper);
}
bool all_lower(std::string_view text) {
    return all_of_case(text, is_lower);
}

std::string_view strip(std::string_view text, Side side) {
    return strip_while(text, side, is_space);
}

std::string_view strip(std::string_view text, std::string_view chars, Side side) {
    std::vector<uint32_t> set;
    for (size_t pos = 0; pos < chars.size();) {
        const Utf8Step c = char_at(chars, pos);
        set.push_back(c.code_point);
        pos += c.size;
    }
    std::sort(set.begin(), set.end());
    return strip_while(text, side, [&](uint32_t c) { return std::binary_search(set.begin(), set.end(), c); });
}

size_t find(std::string_view text, std::string_view needle, size_t pos) {
    if (needle.size() <= 16 || pos > text.size()) return text.find(needle, pos);
    // Knuth, Morris and Pratt: border[i] is the longest proper prefix of needle[0..i] that also ends it.
    std::vector<size_t> border(needle.size(), 0);
    for (size_t i = 1, k = 0; i < needle.size(); ++i) {
        while (k > 0 && needle[i] != needle[k]) k = border[k - 1];
        if (needle[i] == needle[k]) ++k;
        border[i] = k;
    }
    for (size_t k = 0; pos < text.size(); ++pos) {
        while (k > 0 && text[pos] != needle[k]) k = border[k - 1];
        if (text[pos] == needle[k]) ++k;
        if (k == needle.size()) return pos + 1 - k;
    }
    return std::string_view::npos;
}

namespace {

// Begins of all places, never overlapping; from the right the places are chosen from the right.
std::vector<size_t> places(std::string_view text, std::string_view needle, size_t limit, bool from_right) {
    std::vector<size_t> found;
    if (!from_right) {
        for (size_t pos = find(text, needle); pos != std::string_view::npos && found.size() < limit;
             pos = find(text, needle, pos + needle.size())) {
            found.push_back(pos);
        }
        return found;
    }
    const std::string backwards_text(text.rbegin(), text.rend());
    const std::string backwards_needle(needle.rbegin(), needle.rend());
    found = places(backwards_text, backwards_needle, limit, false);
    for (size_t& pos : found) pos = text.size() - pos - needle.size();
    std::reverse(found.begin(), found.end());
    return found;
}

size_t as_limit(int64_t n) {
    return n < 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(n);
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, std::string_view separator, int64_t n_splits,
                                    bool from_right) {
    std::vector<std::string_view> parts;
    size_t begin = 0;
    for (const size_t place : places(text, separator, as_limit(n_splits), from_right)) {
        parts.push_back(text.substr(begin, place - begin));
        begin = place + separator.size();
    }
    parts.push_back(text.substr(begin));
    return parts;
}

std::vector<std::string_view> split_space(std::string_view text, int64_t n_splits, bool from_right) {
    std::vector<std::string_view> parts;
    const size_t limit = as_limit(n_splits);
    text = strip(text, from_right ? Side::right : Side::left);
    while (!text.empty()) {
        if (parts.size() == limit) {
            parts.push_back(from_right ? strip(text, Side::right) : text);
            break;
        }
        if (from_right) {
            size_t begin = text.size();
            while (begin > 0) {
                size_t last = begin - 1;
                while (!is_char_start(text[last])) --last;
                if (is_space(char_at(text, last).code_point)) break;
                begin = last;
            }
            parts.push_back(text.substr(begin));
            text = strip(text.substr(0, begin), Side::right);
        } else {
            size_t end = 0;
            while (end < text.size() && !is_space(char_at(text, end).code_point))
                end += char_at(text, end).size;
            parts.push_back(text.substr(0, end));
            text = strip(text.substr(end), Side::left);
        }
    }
    if (from_right) std::reverse(parts.begin(), parts.end());
    return parts;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
    std::vector<std::string_view> lines;
    size_t begin = 0;
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Step c = char_at(text, pos);
        const uint32_t v = c.code_point;
        size_t next = pos + c.size;
        if ((v >= 10 && v <= 13) || (v >= 0x1C && v <= 0x1E) || v == 0x85 || v == 0x2028 || v == 0x2029) {
            if (v == '\r' && next < text.size() && text[next] == '\n') ++next;
            lines.push_back(text.substr(begin, (keep_ends ? next : pos) - begin));
            begin = next;
        }
        pos = next;
    }
    if (begin < text.size()) lines.push_back(text.substr(begin));
    return lines;
}

std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t n_times) {
    std::string out;
    size_t left = as_limit(n_times);
    if (from.empty()) {  // before every character and at the end
        for (size_t pos = 0; pos <= text.size(); --left) {
            if (left == 0) return out.append(text.substr(pos));
            out += to;
            if (pos == text.size()) return out;
            const size_t size = char_at(text, pos).size;
            out += text.substr(pos, size);
            pos += size;
        }
    }
    size_t begin = 0;
    for (const size_t place : places(text, from, left, false)) {
        out.append(text.substr(begin, place - begin)).append(to);
        begin = place + from.size();
    }
    return out.append(text.substr(begin));
}

size_t count(std::string_view text, std::string_view needle) {
    if (needle.empty()) return count_chars(text) + 1;
    return places(text, needle, std::numeric_limits<size_t>::max(), false).size();
}

}  // namespace takt::jinja
