// A source before and around its tokens: line ends, places for error messages, escapes in strings.
#include <algorithm>

#include "tokenizer/jinja/error.h"
#include "tokenizer/jinja/lexer.h"
#include "tokenizer/jinja/text.h"

namespace takt::jinja {

std::string normalize_source(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r') {
            out += source[i];
        } else {
            out += '\n';
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        }
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

LineColumn line_column(std::string_view source, size_t offset) {
    const std::string_view before = source.substr(0, std::min(offset, source.size()));
    const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return {static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
            count_chars(before.substr(line_begin)) + 1};
}

namespace {

uint32_t code_point(std::string_view digits, int base, size_t offset) {
    uint32_t value = 0;
    for (const char c : digits) {
        const int lower = c | 0x20;
        const int digit = c >= '0' && c <= '9'           ? c - '0'
                          : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                         : 99;
        if (digit >= base) fail_at(offset, "truncated escape in a string");
        value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        fail_at(offset, "an escape that is no character");
    return value;
}

}  // namespace

std::string unescape(const Token& token) {
    const std::string_view text = token.text.substr(1, token.text.size() - 2);
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        static constexpr std::string_view kLetters = "abfnrtv\\'\"";
        static constexpr std::string_view kMeaning = "\a\b\f\n\r\t\v\\'\"";
        const char c = text[++i];
        const size_t hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (const size_t known = kLetters.find(c); known != std::string_view::npos) {
            out += kMeaning[known];
        } else if (hex) {
            if (text.size() - i - 1 < hex) fail_at(token.offset + i, "truncated escape in a string");
            append_utf8(out, code_point(text.substr(i + 1, hex), 16, token.offset + i));
            i += hex;
        } else if (c >= '0' && c <= '7') {
            size_t n = 1;
            while (n < 3 && i + n < text.size() && text[i + n] >= '0' && text[i + n] <= '7') ++n;
            append_utf8(out, code_point(text.substr(i, n), 8, token.offset + i));
            i += n - 1;
        } else if (c == 'N') {
            fail_at(token.offset + i, "\\N{{…}} escapes are not supported");
        } else if (c != '\n') {
            out += '\\';
            out += c;
        }
    }
    return out;
}

}  // namespace takt::jinja
