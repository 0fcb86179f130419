// The alphabet of byte-level vocabularies: each of the 256 bytes is written as one printable character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace takt {

// Printable Latin-1 bytes stand for themselves, the other 68 for U+0100 and up, in order ("Ġ" is the space).
uint32_t byte_to_letter(uint8_t byte);
// -1: not a letter of the alphabet.
int letter_to_byte(uint32_t code_point);

// Appends bytes written in the alphabet.
void append_letters(std::string& out, std::string_view bytes);
// The bytes a text of the vocabulary stands for. Text with a character outside the alphabet stands for
// itself.
std::string letters_to_bytes(std::string_view letters);

}  // namespace takt
