// What the file says about its tokens: texts, types, scores and special ids, checked once and then immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_reader.h"
#include "tokenizer/tokenizer.h"

namespace takt {

// How tokenizer.ggml.model reads the texts.
enum class VocabularyKind : uint8_t {
    byte_level,     // "gpt2": bytes in the alphabet of byte_alphabet.h, merges in order
    sentencepiece,  // "llama": "▁" is the space, <0xAB> are bytes, a score per token
};

class Vocabulary {
public:
    static constexpr size_t kMaxTokenBytes = 64 * 1024;

    // adds_bos_default: where the file doesn't say.
    static Result<Vocabulary> load(const GgufFile& file, VocabularyKind kind, bool adds_bos_default);

    VocabularyKind kind() const { return kind_; }
    uint32_t size() const { return static_cast<uint32_t>(types_.size()); }
    bool contains(int32_t id) const { return id >= 0 && static_cast<uint32_t>(id) < size(); }
    // id must be in the vocabulary for these three. A text is as it stands in the file.
    std::string_view text(int32_t id) const;
    TokenType type(int32_t id) const { return types_[static_cast<size_t>(id)]; }
    float score(int32_t id) const { return scores_[static_cast<size_t>(id)]; }

    // The first token with this text that plain text may become (never control, unknown or byte tokens), or
    // -1.
    int32_t find(std::string_view text) const;
    size_t longest_text_bytes() const { return longest_text_bytes_; }
    // The SentencePiece byte token <0xAB>, or -1.
    int32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }

    // The bytes a token stands for, whatever its type.
    std::string bytes(int32_t id) const;

    int32_t bos_id() const { return bos_id_; }
    int32_t eos_id() const { return eos_id_; }
    bool adds_bos() const { return adds_bos_; }
    bool adds_eos() const { return adds_eos_; }
    const std::vector<int32_t>& end_of_generation_ids() const { return end_of_generation_ids_; }  // ascending

    Vocabulary(Vocabulary&&) = default;
    Vocabulary& operator=(Vocabulary&&) = default;

private:
    friend class VocabularyLoader;
    Vocabulary() = default;

    VocabularyKind kind_{};
    std::vector<char> characters_;  // all texts, one behind the other
    std::vector<size_t> begins_;    // size() + 1
    std::vector<TokenType> types_;
    std::vector<float> scores_;  // empty for byte_level
    // Ids by text: open addressing, a power of two, at most half full.
    struct Slot {
        uint32_t hash = 0;
        int32_t id = -1;  // an empty slot
    };
    void index(int32_t id);  // of two equal texts the first counts
    size_t slot_of(std::string_view text, uint32_t hash) const;
    std::vector<Slot> slots_ = std::vector<Slot>(1);
    std::vector<int32_t> byte_tokens_ = std::vector<int32_t>(256, -1);
    size_t longest_text_bytes_ = 0;
    int32_t bos_id_ = -1;
    int32_t eos_id_ = -1;
    bool adds_bos_ = false;
    bool adds_eos_ = false;
    std::vector<int32_t> end_of_generation_ids_;
};

// "<0xAB>" to 0xAB, any other text to -1.
int parse_byte_text(std::string_view text);

// "▁" to " ", as SentencePiece texts need.
std::string unescape_spaces(std::string_view text);

}  // namespace takt
