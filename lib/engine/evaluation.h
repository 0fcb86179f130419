// One call of evaluate(): the worker computes rows when asked, the caller's thread looks at them.
#pragma once

#include <atomic>
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
    Evaluation(std::span<const int32_t> token_ids, size_t first_wanted, uint32_t chunk_tokens, uint64_t name, uint32_t vocab_size,
               std::unique_ptr<SequencePages> own_pages);

    // --- the caller's side ---
    using OnLogits = std::function<bool(size_t position, std::span<const float> logits)>;
    Status run(const OnLogits& on_logits, WorkerSignal& signal, CallbackThreads& callbacks);

    // --- the worker's side ---
    bool wants_step() const;
    // Rows of the next step: at most max_rows, of which at most max_outputs are wanted.
    uint32_t next_rows(uint32_t max_rows, uint32_t max_outputs) const;
    // Hands the rows of a step, or the end, to the caller.
    void give(uint32_t n_rows, const StepOutput& output);
    void fail(Status status);

    const std::vector<int32_t> ids;
    const size_t first_position;
    const uint32_t chunk;
    const uint64_t sequence;
    const uint32_t vocab_size;
    std::unique_ptr<SequencePages> pages;
    bool admitted = false;       // worker only
    std::atomic<bool> closed{false};   // the caller has left
    uint32_t n_computed = 0;     // worker only, or while no step is wanted

private:
    bool give_rows(const OnLogits& on_logits, CallbackThreads& callbacks, Status& status);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool wants_step_ = false, failed_ = false;
    Status status_;
    std::vector<float> logits_;
    size_t n_rows_ = 0, first_row_position_ = 0;
};

}  // namespace takt
