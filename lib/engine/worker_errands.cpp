// What callers want of pages and executable: done by the worker between two steps, while they wait.
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "engine/worker.h"

namespace takt {

// Lives on its caller's stack.
struct Worker::Errand {
    const BetweenSteps& work;
    uint64_t n_cancels = 0;
    Status status;
    bool done = false;  // guarded by the signal's mutex
};

uint64_t Worker::n_cancels() const {
    const std::lock_guard lock(signal_->mutex);
    return n_cancels_asked_;
}

Status Worker::between_steps(uint64_t n_cancels, const BetweenSteps& work) {
    if (signal_->forked()) {
        return Status(StatusCode::invalid_state,
                      "The engine is of the parent of this forked process; its thread isn't here.");
    }
    Errand errand{work, n_cancels, {}};
    {
        const std::lock_guard lock(signal_->mutex);
        if (stopping_) return Status(StatusCode::invalid_state, "The engine is being destroyed.");
        errands_.push_back(&errand);
    }
    signal_->notify();
    std::unique_lock lock(signal_->mutex);
    signal_->changed.wait(lock, [&] { return errand.done; });
    return std::move(errand.status);
}

void Worker::end_transfer(std::list<Pages>& node) noexcept {
    if (signal_->forked()) {  // the parent's worker may have been in the midst of the pools
        for (Pages& pages : node) static_cast<void>(pages.release());
        return;
    }
    {
        const std::lock_guard lock(signal_->mutex);
        given_back_.splice(given_back_.end(), node);
    }
    signal_->notify();
}

const RunningRequest* Worker::find(const RequestState& state) const {
    const auto is_it = [&](const Running& request) { return request && request->state.get() == &state; };
    for (const Running& request : running_) {
        if (is_it(request)) return request.get();
    }
    for (const Running& request : kept_) {
        if (is_it(request)) return request.get();
    }
    for (const Waiting& waiting : waiting_) {
        if (is_it(waiting.request)) return waiting.request.get();
    }
    return nullptr;
}

// Those that are there, each once: who comes back with the next one meanwhile doesn't hold up the step.
void Worker::run_errands() {
    std::list<Pages> given_back;
    uint64_t n_cancels = 0;
    {
        const std::lock_guard lock(signal_->mutex);
        current_errands_.swap(errands_);
        given_back.swap(given_back_);
        n_cancels = n_cancels_asked_;
    }
    if (!given_back.empty()) {
        n_transfers_ -= static_cast<uint32_t>(given_back.size());
        given_back.clear();
        pages_came_free_ = true;
    }
    if (current_errands_.empty()) return;
    for (Errand* errand : current_errands_) {
        errand->status = errand->n_cancels == n_cancels
                             ? run_errand(*errand)
                             : Status(StatusCode::cancelled, "The transfer was cancelled.");
    }
    {
        const std::lock_guard lock(signal_->mutex);
        for (Errand* errand : current_errands_) errand->done = true;
    }
    current_errands_.clear();
    signal_->changed.notify_all();
}

Status Worker::run_errand(const Errand& errand) const {
    try {
        return errand.work(*executable_);
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::out_of_memory, "Memory ran out between two steps.");
    } catch (const std::exception& error) {
        return Status(StatusCode::internal, error.what());
    }
}

// After the last round.
void Worker::refuse_errands() noexcept {
    {
        const std::lock_guard lock(signal_->mutex);
        for (Errand* errand : errands_) {
            try {
                errand->status = Status(StatusCode::invalid_state, "The engine is being destroyed.");
            } catch (...) {
                errand->status = Status(StatusCode::invalid_state, {});
            }
            errand->done = true;
        }
        errands_.clear();
    }
    signal_->changed.notify_all();
}

}  // namespace takt
