// Look-ups of a loaded vocabulary; vocabulary_loader.cpp fills it.
#include "tokenizer/vocabulary.h"

#include "tokenizer/byte_alphabet.h"

namespace takt {

std::string_view Vocabulary::text(int32_t id) const {
    const auto index = static_cast<size_t>(id);
    return {characters_.data() + begins_[index], begins_[index + 1] - begins_[index]};
}

int32_t Vocabulary::find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? -1 : found->second;
}

std::string Vocabulary::bytes(int32_t id) const {
    const std::string_view token = text(id);
    const TokenType token_type = type(id);
    if (token_type == TokenType::control || token_type == TokenType::unknown) return std::string(token);
    if (kind_ == VocabularyKind::byte_level) {
        return token_type == TokenType::user_defined ? std::string(token) : letters_to_bytes(token);
    }
    if (token_type == TokenType::byte) {
        if (const int byte = parse_byte_text(token); byte >= 0)
            return std::string(1, static_cast<char>(byte));
    }
    return unescape_spaces(token);
}

int parse_byte_text(std::string_view text) {
    if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
    int value = 0;
    for (const char c : text.substr(3, 2)) {
        int digit = -1;
        if (c >= '0' && c <= '9') digit = c - '0';
        if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
        if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

std::string unescape_spaces(std::string_view text) {
    constexpr std::string_view kEscape = "\xE2\x96\x81";
    std::string out;
    out.reserve(text.size());
    for (size_t pos = 0; pos < text.size();) {
        if (text.substr(pos, kEscape.size()) == kEscape) {
            out += ' ';
            pos += kEscape.size();
        } else {
            out += text[pos++];
        }
    }
    return out;
}

}  // namespace takt
