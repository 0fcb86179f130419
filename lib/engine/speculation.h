// Drafts for the requests of a step: from their own text or a draft model, as many as pay.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/draft_model.h"
#include "engine/running_request.h"

namespace takt {

// On the worker's thread.
class Speculation {
public:
    struct Limits {
        uint32_t max_sequences = 0, max_rows = 0, max_output_rows = 0, chunk_tokens = 0;
    };
    // draft: null where the engine has none.
    Speculation(Runtime& runtime, std::unique_ptr<DraftModel> draft, const Limits& limits);

    DraftModel* draft_model() { return draft_.get(); }
    // Sets the drafts of the requests that are about to decode. max_read: tokens of prompts that the draft
    // model may read meanwhile. Returns what the draft model took.
    uint64_t propose(std::span<const std::unique_ptr<RunningRequest>> running, uint32_t max_read,
                     SamplerScratch& scratch);
    // A step without prompt rows.
    void record_step(uint32_t n_rows, uint64_t ns) { costs_.record(n_rows, ns); }
    const StepCosts& costs() const { return costs_; }
    // After the request's drafts were verified and n_chosen tokens came of it. Returns how many were right.
    static uint32_t record(RunningRequest& request, uint32_t n_chosen);

private:
    void ask_texts(std::span<const std::unique_ptr<RunningRequest>> running);
    uint64_t ask_draft_model(uint32_t max_read, SamplerScratch& scratch);
    uint32_t choose_length(RunningRequest& request, uint32_t most, bool by_model);

    Runtime& runtime_;
    std::unique_ptr<DraftModel> draft_;
    const Limits limits_;
    StepCosts costs_;
    DraftSituation situation_;
    uint32_t room_ = 0;  // rows that the step still has
    std::vector<DraftModel::Job> jobs_;
};

}  // namespace takt
