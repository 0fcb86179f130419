// The cost of a step with n prompt rows is taken as that of its decode rows and n times the cost of a row,
// which is learned from steps as large as the ones it is used for: rows that share a read of the weights are
// cheaper than one.
#include "engine/chunk_budget.h"

#include <algorithm>

namespace takt {
namespace {

constexpr double kDefaultGap = 1.5;        // times the median step
constexpr double kNewest = 0.5;            // weight of the last step's cost of a row
constexpr uint32_t kFirstPromptRows = 16;  // while nothing is known
constexpr uint32_t kMostGrowth = 2;  // from one step to the next: a cost is known for what was tried alone

}  // namespace

uint64_t ChunkBudget::median_decode_ns() const {
    const uint32_t n = std::min(n_decode_steps_, kMedianSteps);
    if (n == 0) return 0;
    std::array<uint64_t, kMedianSteps> sorted = decode_ns_;
    std::nth_element(sorted.begin(), sorted.begin() + n / 2, sorted.begin() + n);
    return sorted[n / 2];
}

// Decode rows beyond those that the last step without prompts had. Each is taken to cost what a prompt's row
// does: where prompts keep coming, more and more decode before a step without prompts says what that takes.
uint32_t ChunkBudget::n_more_than_lately(uint32_t n_decode_rows) const {
    return n_decode_rows > last_decode_rows_ ? n_decode_rows - last_decode_rows_ : 0;
}

uint32_t ChunkBudget::prompt_rows(uint32_t n_decode_rows) const {
    // A prompt moves on by a row at least, however many decode.
    const uint32_t whole = std::max(1u, chunk_tokens_ - std::min(chunk_tokens_, n_decode_rows));
    if (n_decode_rows == 0 || step_gap_ns_ == kNoLimit) return whole;
    if (n_decode_steps_ == 0) return std::min(whole, kFirstPromptRows);
    if (row_ns_ == 0) return std::min(whole, kFirstPromptRows / kMostGrowth);
    const double decode =
        static_cast<double>(median_decode_ns()) + n_more_than_lately(n_decode_rows) * row_ns_;
    const double gap = step_gap_ns_ != 0 ? static_cast<double>(step_gap_ns_) : kDefaultGap * decode;
    const double affordable = std::clamp((gap - decode) / row_ns_, 1.0, static_cast<double>(whole));
    const uint32_t grown = kMostGrowth * std::max(last_prompt_rows_, kFirstPromptRows / kMostGrowth);
    return std::min(static_cast<uint32_t>(affordable), grown);
}

void ChunkBudget::record(uint32_t n_decode_rows, uint32_t n_prompt_rows, uint64_t ns) {
    if (n_prompt_rows == 0) {
        decode_ns_[n_decode_steps_++ % kMedianSteps] = ns;
        last_decode_rows_ = n_decode_rows;
        last_prompt_rows_ = 0;
        return;
    }
    if (n_decode_rows == 0) return;
    last_prompt_rows_ = n_prompt_rows;
    const double extra = std::max(0.0, static_cast<double>(ns) - static_cast<double>(median_decode_ns()));
    const double row = std::max(1.0, extra / (n_prompt_rows + n_more_than_lately(n_decode_rows)));
    row_ns_ = row_ns_ == 0 ? row : kNewest * row + (1 - kNewest) * row_ns_;
}

}  // namespace takt
