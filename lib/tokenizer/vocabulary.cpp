// Look-ups of a loaded vocabulary; vocabulary_loader.cpp fills it.
#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <cstring>

#include "tokenizer/byte_alphabet.h"

namespace takt {
namespace {

// Eight bytes at a time. Loading a vocabulary asks for three texts a merge: with std::unordered_map that was
// a tenth of the time to the first token of SmolLM2.
uint32_t hash_text(std::string_view text) {
    constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
    uint64_t hash = text.size() * kFactor;
    for (size_t at = 0; at < text.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
        hash = (hash ^ word) * kFactor;
        hash ^= hash >> 29;
    }
    return static_cast<uint32_t>(hash >> 16);
}

}  // namespace

std::string_view Vocabulary::text(int32_t id) const {
    const auto index = static_cast<size_t>(id);
    return {characters_.data() + begins_[index], begins_[index + 1] - begins_[index]};
}

// The slot that holds the text, or the empty one where it would go.
size_t Vocabulary::slot_of(std::string_view wanted, uint32_t hash) const {
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot].id >= 0 && (slots_[slot].hash != hash || text(slots_[slot].id) != wanted))
        slot = (slot + 1) & (slots_.size() - 1);
    return slot;
}

void Vocabulary::index(int32_t id) {
    const uint32_t hash = hash_text(text(id));
    Slot& slot = slots_[slot_of(text(id), hash)];
    if (slot.id < 0) slot = {hash, id};
}

int32_t Vocabulary::find(std::string_view text) const {
    return slots_[slot_of(text, hash_text(text))].id;
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
