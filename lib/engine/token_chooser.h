// From a step's outputs to a request's next token, its text and whether it is the last one.
#pragma once

#include <memory>

#include "backend/step_batch.h"
#include "base/clock.h"
#include "engine/running_request.h"
#include "sampler/sampler_chain.h"
#include "tokenizer/tokenizer.h"

namespace takt {

class TokenChooser {
public:
    TokenChooser(const Clock& clock, std::shared_ptr<const Tokenizer> tokenizer, uint32_t vocab_size)
        : clock_(clock), tokenizer_(std::move(tokenizer)), vocab_size_(vocab_size), scratch_(vocab_size) {}

    // Fills the request's outcome: one token, and one for each of its drafts as long as they are what is
    // chosen anyway. output_row: the place of its first such row among the outputs. Returns how many.
    uint32_t choose(RunningRequest& request, const StepOutput& output, size_t output_row,
                    uint64_t computed_ns);
    SamplerScratch& scratch() { return scratch_; }

private:
    bool choose_one(RunningRequest& request, const StepOutput& output, size_t output_row, uint32_t draft);
    Result<int32_t> pick(const RunningRequest& request, const StepOutput& output, size_t output_row,
                         uint32_t draft);
    Result<int32_t> decide_draft(const RunningRequest& request, std::span<const float> logits,
                                 uint32_t draft);
    bool ends_generation(const RequestOptions& options, int32_t id) const;
    FinishReason reason_to_end(const RunningRequest& request, bool ends) const;

    const Clock& clock_;
    std::shared_ptr<const Tokenizer> tokenizer_;
    uint32_t vocab_size_;
    SamplerScratch scratch_;
};

}  // namespace takt
