// A small model that reads what requests have said and guesses on, a token at a time, all requests in one
// step.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "engine/page_pool.h"
#include "engine/running_request.h"
#include "engine/runtime.h"
#include "engine/scheduler.h"
#include "model/model.h"

namespace takt {

// On the worker's thread, but for new_sequence().
class DraftModel {
public:
    DraftModel(Runtime& runtime, std::shared_ptr<const Model> model, std::unique_ptr<Executable> executable,
               const CompileOptions& compile, bool prefix_reuse);

    // For a request of at most max_total tokens; sized here. Any thread.
    std::unique_ptr<DraftSequence> new_sequence(uint64_t name, uint32_t max_total);

    struct Job {
        RunningRequest* request = nullptr;
        uint32_t n_wanted = 0;
        uint32_t n_rows = 0;  // of the step that is being made
    };
    // Puts up to n_wanted proposals into each request's drafts, fewer where the draft model has still to read
    // (it reads at most max_read tokens), has no pages left or no place for a token.
    Status propose(std::span<Job> jobs, uint32_t max_read, SamplerScratch& scratch);
    const StepCosts& costs() const { return costs_; }
    uint64_t last_ns() const { return last_ns_; }  // of the last propose()
    MemoryPlan memory() const { return executable_->memory(); }

private:
    bool add_unread(Job& job, uint32_t& budget);
    void add_last_draft(Job& job);
    Status run(std::span<Job> jobs, bool is_reading, SamplerScratch& scratch);
    void take_guess(const Job& job, const StepOutput& output, size_t place, SamplerScratch& scratch);
    bool knows(std::span<const int32_t> tokens) const;

    Runtime& runtime_;
    const std::shared_ptr<const Model> model_;
    std::unique_ptr<Executable> executable_;
    const CompileOptions compile_;
    const bool prefix_reuse_;
    std::vector<PagePool> pools_;
    StepBuilder step_;
    StepCosts costs_;
    uint64_t last_ns_ = 0;
};

// ok where the draft's tokens are the model's: same ids for the same texts. Else says which differ.
Status check_same_vocabulary(const Model& model, const Model& draft);

}  // namespace takt
