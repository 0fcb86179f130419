// What a character is, as the expressions of split rules see it. One bit each, so that a rule asks for a set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace takt {

using CharSet = uint16_t;

constexpr CharSet kUpper = 1;     // Lu, Lt
constexpr CharSet kLower = 2;     // Ll
constexpr CharSet kCaseless = 4;  // Lm, Lo
constexpr CharSet kMark = 8;      // M
constexpr CharSet kNumber = 16;   // N
constexpr CharSet kPunctuation = 32;
constexpr CharSet kSymbol = 64;
constexpr CharSet kSpace = 128;  // what \s means, line breaks included
constexpr CharSet kOther = 256;  // control, format, private and unassigned
constexpr CharSet kLetter = kUpper | kLower | kCaseless;

struct Char {
    uint32_t code_point;
    uint8_t size;     // in bytes; 0 at the text's end
    CharSet classes;  // one bit; none at the text's end

    bool is(CharSet set) const { return (classes & set) != 0; }
    bool is_line_break() const { return code_point == '\r' || code_point == '\n'; }
};

// text must be valid UTF-8.
Char char_at(std::string_view text, size_t pos);

}  // namespace takt
