// How requests end: cancelled, over their deadline, with their step's error, or with the engine.
#include <algorithm>
#include <utility>

#include "engine/worker.h"

namespace takt {
namespace {

// Where memory for the sentence is lacking, the code has to do.
Status make_status(StatusCode code, const char* sentence) noexcept {
    try {
        return Status(code, sentence);
    } catch (...) {
        return Status(code, {});
    }
}

}  // namespace

bool Worker::end_if_over(RunningRequest& request, uint64_t now_ns) {
    if (request.finished) return true;
    const RequestOptions& options = request.state->options();
    if (request.state->cancelled()) {
        Status failure = request.state->callback_failure();
        const FinishReason reason = failure.ok() ? FinishReason::cancelled : FinishReason::error;
        finish(request, reason, std::move(failure), now_ns);
    } else if (options.max_tokens == 0 && !options.keep_state) {
        finish(request, FinishReason::length, {}, now_ns);
    } else if (options.deadline_ns != 0 && now_ns >= options.deadline_ns) {
        finish(request, FinishReason::deadline, {}, now_ns);
    }
    return request.finished;
}

// Also keeps the nearest deadline of those that stay.
bool Worker::drop_if_over(Waiting& waiting, uint64_t now_ns) {
    if (!waiting.request) return waiting.job.evaluation->is_over();
    if (end_if_over(*waiting.request, now_ns)) {
        keep_or_drop(std::move(waiting.request));
        return true;
    }
    if (const uint64_t deadline = waiting.request->state->options().deadline_ns; deadline != 0)
        next_deadline_ns_ = std::min(next_deadline_ns_, deadline);
    return false;
}

// Those that wait may be thousands: they are looked at only if one of them may be over.
void Worker::end_what_is_over() {
    const uint64_t now_ns = runtime_->clock().now_ns();
    if (now_ns >= slo_watch_.next_ns()) watch_promises(now_ns);
    for (const Running& request : running_) end_if_over(*request, now_ns);
    drop_finished();
    const size_t n_evaluations = evaluations_.size();
    std::erase_if(evaluations_, [](const EvaluationJob& job) { return job.evaluation->is_over(); });
    pages_came_free_ = pages_came_free_ || evaluations_.size() < n_evaluations;
    if (!signal_->cancelled.exchange(false) && now_ns < next_deadline_ns_) return;
    next_deadline_ns_ = UINT64_MAX;
    std::erase_if(waiting_, [&](Waiting& waiting) { return drop_if_over(waiting, now_ns); });
}

void Worker::finish(RunningRequest& request, FinishReason reason, Status status, uint64_t end_ns) noexcept {
    request.finished = true;
    if (request.drafts) request.drafts->release();
    request.kept = request.state->options().keep_state && reason != FinishReason::error;
    if (!request.kept) request.pages->release();
    pages_came_free_ = true;
    --n_live_;  // before its last callback, which may submit the next one
    record_end(request, reason, end_ns);
    std::string_view rest;
    try {
        if (!request.text_is_ahead) rest = request.text.flush();
    } catch (...) {
        rest = {};  // the end must be told, with or without the held-back text
    }
    gaps_.in_callbacks(request.state->finish(reason, std::move(status), rest, end_ns, step_.n_rows()));
}

void Worker::drop_finished() {
    for (Running& request : running_) {
        if (request->finished) keep_or_drop(std::move(request));
    }
    std::erase(running_, nullptr);
}

void Worker::fail_all(StatusCode code, const char* sentence) noexcept {
    const uint64_t now_ns = runtime_->clock().now_ns();
    for (const Running& request : running_) {
        if (!request->finished) finish(*request, FinishReason::error, make_status(code, sentence), now_ns);
    }
    running_.clear();
    for (const EvaluationJob& job : evaluations_) job.evaluation->fail(make_status(code, sentence));
    evaluations_.clear();
}

void Worker::cancel_if_asked() {
    uint64_t asked = 0;
    {
        const std::lock_guard lock(signal_->mutex);
        asked = n_cancels_asked_;
        if (asked == n_cancels_done_) return;
    }
    end_everything();
    {
        const std::lock_guard lock(signal_->mutex);
        n_cancels_done_ = asked;
    }
    signal_->changed.notify_all();
}

void Worker::end_everything() noexcept {
    const uint64_t now_ns = runtime_->clock().now_ns();
    {
        const std::lock_guard lock(signal_->mutex);
        waiting_.splice(waiting_.end(), incoming_);
    }
    const auto fail = [](const EvaluationJob& job) {
        job.evaluation->fail(make_status(StatusCode::cancelled, "The evaluation was cancelled."));
    };
    for (Running& request : running_) {
        finish(*request, FinishReason::cancelled, {}, now_ns);
        keep_or_drop(std::move(request));
    }
    for (const EvaluationJob& job : evaluations_) fail(job);
    for (Waiting& waiting : waiting_) {
        if (!waiting.request) {
            fail(waiting.job);
        } else if (!waiting.request->finished) {
            finish(*waiting.request, FinishReason::cancelled, {}, now_ns);
            keep_or_drop(std::move(waiting.request));
        }
    }
    running_.clear();
    evaluations_.clear();
    waiting_.clear();
}

}  // namespace takt
