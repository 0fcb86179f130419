// One call of evaluate(): the worker computes rows when asked, the caller's thread looks at them.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/request_state.h"
#include "engine/sequence_pages.h"

namespace takt {

class Evaluation {
public:
    struct Plan {
        std::vector<int32_t> ids;
        size_t first_position = 0;  // logits are wanted from here on
        uint32_t chunk_tokens = 0;  // rows of a step
        uint32_t max_outputs = 0;   // of these at most so many with logits: what the executable has room for
        uint32_t vocab_size = 0;
        uint64_t sequence = 0;
    };
    explicit Evaluation(Plan plan);

    // --- the caller's side ---
    using OnLogits = std::function<bool(size_t position, std::span<const float> logits)>;
    Status run(const OnLogits& on_logits, WorkerSignal& signal, CallbackThreads& callbacks);

    // --- the worker's side ---
    const Plan& plan() const { return plan_; }
    bool wants_step() const;
    bool is_over() const;  // the caller has all it wanted, or gave up
    uint32_t n_computed() const { return n_computed_; }
    uint32_t next_rows() const;
    // Hands the rows of a step, or the end, to the caller.
    void give(uint32_t n_rows, const StepOutput& output);
    void fail(Status status);

private:
    Status look_at_rows(const OnLogits& on_logits, CallbackThreads& callbacks) const;

    const Plan plan_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool wants_step_ = false, is_over_ = false;
    Status status_;
    uint32_t n_computed_ = 0;    // the worker's while a step is wanted, else the caller's; so are the rows
    std::vector<float> logits_;  // sized by the caller
    size_t n_rows_ = 0, first_row_position_ = 0;
};

// An evaluation in the worker's hands.
struct EvaluationJob {
    std::shared_ptr<Evaluation> evaluation;
    std::unique_ptr<SequencePages> pages;
};

}  // namespace takt
