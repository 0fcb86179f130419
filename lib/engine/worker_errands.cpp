// What callers want of pages and executable: done by the worker between two steps, while they wait.
#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "engine/worker.h"

namespace takt {
namespace {

constexpr int kTransferShare = 4;                    // of a step's time, its inverse
constexpr std::chrono::microseconds kPatience{500};  // a chunk takes a local socket about 200

}  // namespace

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
    TAKT_RETURN_IF_ERROR(signal_->refuse_in_forked_child());
    Errand errand{work, n_cancels, {}};
    {
        const std::lock_guard lock(signal_->mutex);
        if (stopping_) return Status(StatusCode::invalid_state, "The engine is being destroyed.");
        errands_.push_back(&errand);
    }
    signal_->notify();
    std::unique_lock lock(signal_->mutex);
    wait_for(*signal_, signal_->changed, lock, UINT64_MAX, Round::without_step, [&] { return errand.done; });
    return std::move(errand.status);
}

void Worker::end_transfer(std::list<Pages>& node) noexcept {
    if (signal_->forked()) {  // the parent's worker may have been in the midst of the pools
        for (Pages& pages : node) {
            [[maybe_unused]] const SequencePages* left = pages.release();
        }
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

// A transfer whose other end is quick has its next chunk ready within microseconds: it gets up to a quarter
// of what the last step took. One whose other end is slow is not waited for. Measured with 53 MB of SmolLM2,
// two cores, November 2026, a chunk a step against this: beside a decode 0.9 s and 0.05 to 0.12 s, beside a
// prefill 5.3 s and 0.05 to 0.65 s.
void Worker::run_errands() {
    if (signal_->drive) {  // who brings errands may be who drives
        run_waiting_errands();
        return;
    }
    const auto end = std::chrono::steady_clock::now() + last_step_ / kTransferShare;
    while (run_waiting_errands() && !running_.empty() && n_transfers_ > 0) {
        std::unique_lock lock(signal_->mutex);
        const auto now = std::chrono::steady_clock::now();
        if (now >= end) return;
        const auto patience = std::min(end, now + kPatience);
        const auto came = [&] { return !errands_.empty() || stopping_; };
        if (!signal_->changed.wait_until(lock, patience, came)) return;
    }
}

// Those that are there, each once. False: there were none.
bool Worker::run_waiting_errands() {
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
    if (current_errands_.empty()) return false;
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
    return true;
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
