// A few megabytes for the largest vocabularies, in one piece.
#include "engine/token_texts.h"

namespace takt {

TokenTexts::TokenTexts(const Tokenizer& tokenizer) : strips_leading_space_(tokenizer.strips_leading_space()) {
    const uint32_t vocab_size = tokenizer.vocab_size();
    ends_.reserve(vocab_size);
    is_special_.reserve(vocab_size);
    for (uint32_t i = 0; i < vocab_size; ++i) {
        const auto id = static_cast<int32_t>(i);
        const TokenType type = tokenizer.token_type(id);
        bytes_ += tokenizer.token_bytes(id, /*keep_special=*/false);
        ends_.push_back(static_cast<uint32_t>(bytes_.size()));
        is_special_.push_back(type == TokenType::control || type == TokenType::unknown);
    }
    bytes_.shrink_to_fit();
}

std::string_view TokenTexts::bytes(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    const uint32_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
}

}  // namespace takt
