// The alphabet of byte-level vocabularies, as two tables made at compile time.
#include "tokenizer/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace takt {
namespace {

constexpr uint32_t kLetterEnd = 256 + 68;

constexpr bool stands_for_itself(uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<uint16_t, 256> make_letters() {
    std::array<uint16_t, 256> letters{};
    uint16_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        letters[byte] = stands_for_itself(byte) ? static_cast<uint16_t>(byte) : next++;
    }
    return letters;
}
constexpr std::array<uint16_t, 256> kLetters = make_letters();

constexpr std::array<int16_t, kLetterEnd> make_bytes() {
    std::array<int16_t, kLetterEnd> bytes{};
    for (int16_t& byte : bytes) byte = -1;
    for (uint32_t byte = 0; byte < 256; ++byte) bytes[kLetters[byte]] = static_cast<int16_t>(byte);
    return bytes;
}
constexpr std::array<int16_t, kLetterEnd> kBytes = make_bytes();
static_assert(kLetters[' '] == 0x120 && kBytes[0x120] == ' ');

}  // namespace

uint32_t byte_to_letter(uint8_t byte) {
    return kLetters[byte];
}

int letter_to_byte(uint32_t code_point) {
    return code_point < kLetterEnd ? kBytes[code_point] : -1;
}

void append_letters(std::string& out, std::string_view bytes) {
    for (const char byte : bytes) append_utf8(out, byte_to_letter(static_cast<uint8_t>(byte)));
}

std::string letters_to_bytes(std::string_view letters) {
    std::string bytes;
    bytes.reserve(letters.size());
    for (size_t pos = 0; pos < letters.size();) {
        const Utf8Step step = utf8_step(letters, pos);
        const int byte = step.kind == Utf8Kind::valid ? letter_to_byte(step.code_point) : -1;
        if (byte < 0) return std::string(letters);
        bytes += static_cast<char>(byte);
        pos += step.size;
    }
    return bytes;
}

}  // namespace takt
