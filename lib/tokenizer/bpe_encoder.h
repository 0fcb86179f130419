// Byte-level BPE: a piece's bytes to token ids by the file's merges, best rank first, leftmost among equals.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_reader.h"
#include "tokenizer/vocabulary.h"

namespace takt {

class BpeEncoder {
public:
    // Reads tokenizer.ggml.merges. A merge whose halves or result are no tokens can never make a token: it is
    // left out.
    static Result<BpeEncoder> create(const GgufFile& file, const Vocabulary& vocabulary);

    // Reused between pieces, so that a long text allocates little.
    struct Scratch {
        struct Symbol {
            int32_t id;
            uint32_t previous;
            uint32_t next;
        };
        struct Candidate {
            uint32_t rank;
            uint32_t left;    // index of the left symbol
            int32_t left_id;  // what the two symbols were when this was pushed
            int32_t right_id;
        };
        std::vector<Symbol> symbols;
        std::vector<Candidate> heap;
    };

    // Appends the ids of one piece, n log n in its bytes. Bytes without a token are skipped, before anything
    // merges.
    void encode_piece(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;
    int32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }  // -1: none

private:
    struct Merge {
        uint64_t pair = ~uint64_t{0};  // left id << 32 | right id; all ones: an empty slot
        uint32_t rank = 0;
        int32_t result = -1;
    };

    BpeEncoder() = default;
    Status load_merges(const std::vector<std::string>& merges, const Vocabulary& vocabulary);
    void insert(const Merge& merge);
    const Merge* find(int32_t left, int32_t right) const;
    void push_candidate(Scratch& scratch, uint32_t left) const;

    std::vector<Merge> table_;  // open addressing, a power of two, at most half full
    std::array<int32_t, 256> byte_tokens_{};
};

}  // namespace takt
