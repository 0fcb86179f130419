// The hand-over between the worker and the thread that called evaluate().
#include "engine/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace takt {

Evaluation::Evaluation(std::span<const int32_t> token_ids, size_t first_wanted, uint32_t chunk_tokens, uint64_t name,
                       uint32_t vocabulary, std::unique_ptr<SequencePages> own_pages)
    : ids(token_ids.begin(), token_ids.end()), first_position(first_wanted), chunk(chunk_tokens), sequence(name),
      vocab_size(vocabulary), pages(std::move(own_pages)) {}

bool Evaluation::wants_step() const {
    const std::lock_guard lock(mutex_);
    return wants_step_;
}

uint32_t Evaluation::next_rows(uint32_t max_rows, uint32_t max_outputs) const {
    const uint32_t rows = std::min({chunk, max_rows, static_cast<uint32_t>(ids.size()) - n_computed});
    const auto unwanted = static_cast<uint32_t>(first_position > n_computed ? first_position - n_computed : 0);
    return std::min(rows, unwanted + max_outputs);
}

void Evaluation::give(uint32_t n_rows, const StepOutput& output) {
    {
        const std::lock_guard lock(mutex_);
        n_rows_ = output.rows.size();
        first_row_position_ = n_computed + n_rows - n_rows_;
        logits_.assign(output.logits.begin(), output.logits.begin() + static_cast<ptrdiff_t>(n_rows_ * vocab_size));
        n_computed += n_rows;
        wants_step_ = false;
    }
    changed_.notify_all();
}

void Evaluation::fail(Status status) {
    {
        const std::lock_guard lock(mutex_);
        status_ = std::move(status);
        failed_ = true;
        wants_step_ = false;
    }
    changed_.notify_all();
}

bool Evaluation::give_rows(const OnLogits& on_logits, CallbackThreads& callbacks, Status& status) {
    for (size_t i = 0; i < n_rows_; ++i) {
        const std::span<const float> row = std::span<const float>(logits_).subspan(i * vocab_size, vocab_size);
        const size_t position = first_row_position_ + i;
        if (!std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); })) {
            status = Status(StatusCode::logits_not_finite, fmt::format("The logits at position {} are not finite.", position));
            return false;
        }
        const CallbackThreads::Scope scope(callbacks);
        if (!on_logits(position, row)) {
            status = Status(StatusCode::cancelled, fmt::format("The callback stopped the evaluation at position {}.", position));
            return false;
        }
    }
    return true;
}

Status Evaluation::run(const OnLogits& on_logits, WorkerSignal& signal, CallbackThreads& callbacks) {
    Status status;
    while (true) {
        {
            const std::lock_guard lock(mutex_);
            if (failed_ || n_computed == ids.size()) return status_;
            wants_step_ = true;
        }
        signal.notify();
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return !wants_step_; });
            if (failed_) return status_;
        }
        if (!give_rows(on_logits, callbacks, status)) return status;
    }
}

}  // namespace takt
