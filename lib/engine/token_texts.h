// The bytes of every token of a vocabulary, laid out once, so that a step takes a token's text without making
// a string.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace takt {

class TokenTexts {
public:
    explicit TokenTexts(const Tokenizer& tokenizer);
    // As Tokenizer::token_bytes without keep_special: control tokens have no text.
    std::string_view bytes(int32_t id) const;
    bool is_special(int32_t id) const { return is_special_[static_cast<size_t>(id)]; }  // control or unknown
    bool strips_leading_space() const { return strips_leading_space_; }

private:
    std::string bytes_;
    std::vector<uint32_t> ends_;
    std::vector<bool> is_special_;
    bool strips_leading_space_;
};

}  // namespace takt
