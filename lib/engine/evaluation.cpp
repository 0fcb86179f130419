// The hand-over between the worker and the thread that called evaluate().
#include "engine/evaluation.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace takt {

Evaluation::Evaluation(Plan plan) : plan_(std::move(plan)) {
    const size_t n_wanted = plan_.ids.size() - plan_.first_position;
    const size_t n_rows = std::min({n_wanted, size_t{plan_.chunk_tokens}, size_t{plan_.max_outputs}});
    logits_.resize(n_rows * plan_.vocab_size);
}

bool Evaluation::wants_step() const {
    const std::lock_guard lock(mutex_);
    return wants_step_;
}

bool Evaluation::is_over() const {
    const std::lock_guard lock(mutex_);
    return is_over_;
}

// A chunk with more wanted rows than fit is computed in parts: a row's bits don't depend on its neighbours.
uint32_t Evaluation::next_rows() const {
    const auto n_left = static_cast<uint32_t>(plan_.ids.size()) - n_computed_;
    const auto n_unwanted =
        static_cast<uint32_t>(plan_.first_position > n_computed_ ? plan_.first_position - n_computed_ : 0);
    return std::min({plan_.chunk_tokens, n_left, n_unwanted + plan_.max_outputs});
}

void Evaluation::give(uint32_t n_rows, const StepOutput& output) {
    {
        const std::lock_guard lock(mutex_);
        n_rows_ = output.rows.size();
        first_row_position_ = n_computed_ + n_rows - n_rows_;
        std::copy_n(output.logits.begin(), n_rows_ * plan_.vocab_size, logits_.begin());
        n_computed_ += n_rows;
        wants_step_ = false;
    }
    changed_.notify_all();
}

void Evaluation::fail(Status status) {
    {
        const std::lock_guard lock(mutex_);
        status_ = std::move(status);
        is_over_ = true;
        wants_step_ = false;
    }
    changed_.notify_all();
}

Status Evaluation::look_at_rows(const OnLogits& on_logits, CallbackThreads& callbacks) const {
    for (size_t i = 0; i < n_rows_; ++i) {
        const std::span<const float> row =
            std::span<const float>(logits_).subspan(i * plan_.vocab_size, plan_.vocab_size);
        const size_t position = first_row_position_ + i;
        if (!std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); })) {
            return Status(StatusCode::logits_not_finite,
                          fmt::format("The logits are not finite at position {}.", position));
        }
        const CallbackThreads::Scope scope(&callbacks);
        try {
            if (on_logits(position, row)) continue;
        } catch (...) {
            return Status(StatusCode::internal,
                          fmt::format("The logits callback threw at position {}.", position));
        }
        return Status(StatusCode::cancelled,
                      fmt::format("The logits callback stopped the evaluation at position {}.", position));
    }
    return {};
}

Status Evaluation::run(const OnLogits& on_logits, WorkerSignal& signal, CallbackThreads& callbacks) {
    Status status;
    while (status.ok() && n_computed_ < plan_.ids.size()) {
        std::unique_lock lock(mutex_);
        wants_step_ = !is_over_;  // the engine may have ended meanwhile
        lock.unlock();
        signal.notify();
        lock.lock();
        wait_for(signal, changed_, lock, UINT64_MAX, Round::with_step, [&] { return !wants_step_; });
        if (is_over_) return status_;
        lock.unlock();
        status = look_at_rows(on_logits, callbacks);
    }
    {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
    }
    signal.notify();  // its pages are wanted
    return status;
}

}  // namespace takt
