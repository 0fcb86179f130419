// Python's string operations over UTF-8: characters are code points, classes come from utf8proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace takt::jinja {

// The text must be valid UTF-8.
inline Utf8Step char_at(std::string_view text, size_t pos) {
    return utf8_step(text, pos);
}
inline bool is_char_start(char byte) {
    return (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
}
size_t count_chars(std::string_view text);
// Byte where the character with this index begins; text.size() past the end.
size_t byte_of_char(std::string_view text, size_t index);

bool is_space(uint32_t code_point);  // str.isspace
bool is_alpha(uint32_t code_point);
bool is_decimal(uint32_t code_point);
bool is_word(uint32_t code_point);       // \w
bool is_printable(uint32_t code_point);  // what repr leaves as it is
bool is_upper(uint32_t code_point);
bool is_lower(uint32_t code_point);
bool is_cased(uint32_t code_point);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);       // str.title
std::string capitalize(std::string_view text);  // str.capitalize
std::string swapcase(std::string_view text);
// str.isupper, str.islower: at least one cased character and none of the other case.
bool all_upper(std::string_view text);
bool all_lower(std::string_view text);
// Not empty, and every character passes.
bool all_chars(std::string_view text, bool (*test)(uint32_t));

enum class Side : uint8_t { both, left, right };
std::string_view strip(std::string_view text, Side side = Side::both);
std::string_view strip(std::string_view text, std::string_view chars, Side side);

// Byte of the first place at or after pos, npos if none. Linear even for needles made to be slow.
size_t find(std::string_view text, std::string_view needle, size_t pos = 0);
// n_splits < 0: no limit. With from_right the last n_splits places count.
std::vector<std::string_view> split(std::string_view text, std::string_view separator, int64_t n_splits,
                                    bool from_right);
std::vector<std::string_view> split_space(std::string_view text, int64_t n_splits, bool from_right);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);
std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t n_times);
size_t count(std::string_view text, std::string_view needle);

}  // namespace takt::jinja
