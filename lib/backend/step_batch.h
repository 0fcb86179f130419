// What one step computes: sequences, their contiguous rows and positions, and what is wanted of each row.
#pragma once

#include <cstdint>
#include <span>

namespace takt {

enum class OutputWanted : uint8_t { none, logits, argmax, hidden };

constexpr uint32_t kNoPage = ~0u;
// Rows of a sequence's last run that commit() can leave out where the program keeps recurrent state.
constexpr uint32_t kMaxUndoneRows = 16;

// Pages of one state group: entry i holds positions [i * page_tokens, (i + 1) * page_tokens). Pages that fell
// out of a window are kNoPage. The table reaches at least over the batch's last position of the sequence.
// That of a recurrent group is one entry, the slot with the state at the sequence's first position: zeros,
// whatever it holds, at position 0. It is no other sequence's of the batch.
using BlockTable = std::span<const uint32_t>;

struct BatchSequence {
    uint64_t sequence = 0;                     // the engine's name for it
    uint32_t first_row = 0, n_rows = 0;        // rows of the batch, contiguous
    uint32_t first_position = 0;               // row i of the sequence stands at first_position + i
    std::span<const BlockTable> block_tables;  // one per state group of the program
};

// Views, owned by the engine until run() returns. Rows of all sequences lie one behind the other, without
// gaps.
struct StepBatch {
    std::span<const int32_t> tokens;       // per row
    std::span<const OutputWanted> wanted;  // per row
    std::span<const BatchSequence> sequences;
};

// Rows for which something was wanted, in row order. Borrowed until the executable's next run.
struct StepOutput {
    std::span<const uint32_t> rows;  // index into the batch's rows
    std::span<const float> logits;   // [rows.size()][vocab_size]
    std::span<const float> hidden;   // [rows.size()][hidden width], if any row wanted it
    std::span<const int32_t>
        argmax;               // [rows.size()], if any row wanted it; lowest id wins a tie, -1 if not finite
    uint64_t compute_ns = 0;  // time in the backend
};

}  // namespace takt
