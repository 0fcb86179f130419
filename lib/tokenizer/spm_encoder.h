// SentencePiece-style encoding: characters merge to the token with the best score, leftmost among equals;
// what is no token in the end becomes its bytes' tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/vocabulary.h"

namespace takt {

class SpmEncoder {
public:
    // Borrows the vocabulary, which must outlive it.
    explicit SpmEncoder(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

    // Appends the ids of a text without special tokens, n log n in its bytes. add_prefix puts one space in
    // front. text_offset is the place of the text in the caller's, for the error of a byte that has no token.
    Status encode(std::string_view text, bool add_prefix, size_t text_offset,
                  std::vector<int32_t>& ids) const;

private:
    class Run;
    const Vocabulary& vocabulary_;
};

}  // namespace takt
