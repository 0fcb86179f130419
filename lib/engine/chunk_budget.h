// How many prompt rows a step may carry while others decode, from what steps have cost.
#pragma once

#include <array>
#include <cstdint>

namespace takt {

class ChunkBudget {
public:
    // step_gap_ns: what a step of running requests should take at most; 0: 1.5 times the median of the last
    // kMedianSteps steps without prompt rows; kNoLimit: a whole chunk, however long it takes.
    static constexpr uint64_t kNoLimit = UINT64_MAX;
    ChunkBudget(uint32_t chunk_tokens, uint64_t step_gap_ns)
        : chunk_tokens_(chunk_tokens), step_gap_ns_(step_gap_ns) {}

    // Rows of prompts for the next step, at least 1.
    uint32_t prompt_rows(uint32_t n_decode_rows) const;
    // A step that took ns from its start to its outputs.
    void record(uint32_t n_decode_rows, uint32_t n_prompt_rows, uint64_t ns);

private:
    static constexpr uint32_t kMedianSteps = 32;
    uint64_t median_decode_ns() const;
    uint32_t n_more_than_lately(uint32_t n_decode_rows) const;

    const uint32_t chunk_tokens_;
    const uint64_t step_gap_ns_;
    std::array<uint64_t, kMedianSteps> decode_ns_{};      // the last steps without prompt rows
    uint32_t n_decode_steps_ = 0, last_decode_rows_ = 0;  // rows of the last of them
    double row_ns_ = 0;              // a prompt row on top of the decode rows; 0: not known
    uint32_t last_prompt_rows_ = 0;  // of the last step with both
};

}  // namespace takt
