// One step through bytes that may be UTF-8: strict (no overlong forms, no surrogates, nothing past U+10FFFF).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace takt {

enum class Utf8Kind : uint8_t {
    valid,       // a whole character
    invalid,     // bytes that no later byte can make a character
    incomplete,  // the text ends inside a character
};

struct Utf8Step {
    Utf8Kind kind;
    uint8_t size;  // bytes of the step, 1 to 4; for invalid the part that still looked like a character
    uint32_t code_point;  // only if valid
};

// pos must be inside the text.
inline Utf8Step utf8_step(std::string_view text, size_t pos) {
    const auto first = static_cast<uint8_t>(text[pos]);
    if (first < 0x80) return {Utf8Kind::valid, 1, first};
    if (first < 0xC2 || first > 0xF4) return {Utf8Kind::invalid, 1, 0};
    const uint8_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    uint32_t code_point = first & (0x7Fu >> size);
    // The second byte's range shuts out overlong forms, surrogates and everything past U+10FFFF.
    uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    for (uint8_t i = 1; i < size; ++i) {
        if (pos + i == text.size()) return {Utf8Kind::incomplete, i, 0};
        const auto byte = static_cast<uint8_t>(text[pos + i]);
        if (byte < low || byte > high) return {Utf8Kind::invalid, i, 0};
        code_point = code_point << 6 | (byte & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    return {Utf8Kind::valid, size, code_point};
}

// Where the valid characters that begin at pos end.
inline size_t utf8_valid_end(std::string_view text, size_t pos) {
    while (pos < text.size()) {
        const Utf8Step step = utf8_step(text, pos);
        if (step.kind != Utf8Kind::valid) break;
        pos += step.size;
    }
    return pos;
}

inline void append_utf8(std::string& out, uint32_t code_point) {
    if (code_point < 0x80) {
        out += static_cast<char>(code_point);
    } else if (code_point < 0x800) {
        out += static_cast<char>(0xC0 | code_point >> 6);
        out += static_cast<char>(0x80 | (code_point & 0x3F));
    } else if (code_point < 0x10000) {
        out += static_cast<char>(0xE0 | code_point >> 12);
        out += static_cast<char>(0x80 | (code_point >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (code_point & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | code_point >> 18);
        out += static_cast<char>(0x80 | (code_point >> 12 & 0x3F));
        out += static_cast<char>(0x80 | (code_point >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (code_point & 0x3F));
    }
}

// The text with U+FFFD for what isn't UTF-8.
inline std::string valid_utf8(std::string_view text) {
    std::string out;
    for (size_t pos = 0; pos < text.size();) {
        const size_t end = utf8_valid_end(text, pos);
        out += text.substr(pos, end - pos);
        if (end == text.size()) break;
        append_utf8(out, 0xFFFD);
        pos = end + utf8_step(text, end).size;
    }
    return out;
}

}  // namespace takt
