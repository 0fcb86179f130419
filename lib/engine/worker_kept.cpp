// Requests that ended and keep their pages, forks that begin with pages of others, and the end of those for
// whom nothing is left.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/worker.h"

namespace takt {

// Ended. Allocates nothing.
void Worker::keep_or_drop(Running request) noexcept {
    if (!request->kept || request->state->let_go()) return;
    kept_.splice(kept_.end(), request->kept_place);
    kept_.back() = std::move(request);
}

void Worker::drop_let_go() {
    if (!signal_->let_go.exchange(false)) return;
    std::erase_if(kept_, [](const Running& request) { return request->state->let_go(); });
    pages_came_free_ = true;
}

// Positions that need no computing: brought along, shared with the source of a fork, or known by their hash.
// At least one row is left, whose outputs are wanted.
uint32_t Worker::begin_with_known(RunningRequest& request) const {
    if (request.imported) return request.n_computed;
    if (request.source) {
        const RunningRequest* source = find(*request.source);
        const auto most = static_cast<uint32_t>(request.tokens.size()) - 1;
        const bool shares = source != nullptr && source->n_dropped == 0;  // else its pages hold other tokens
        const uint32_t n = shares ? std::min(source->n_computed, most) : 0;
        if (n > 0 && request.pages->share(*source->pages, n)) return n;
    }
    return limits_.prefix_reuse ? request.pages->reuse(request.tokens) : 0;
}

bool Worker::copy_pages(RunningRequest& request) const {
    for (const PageCopy& copy : request.pages->copies()) {
        Status status = executable_->copy_page(copy.group, copy.from, copy.to);
        if (status.ok()) continue;
        request.outcome.reason = FinishReason::error;
        request.outcome.status = std::move(status);
        request.outcome.end_ns = runtime_->clock().now_ns();
        return false;
    }
    request.pages->copied();
    return true;
}

bool Worker::is_alone() const {
    const auto n = std::ranges::count_if(running_, [](const Running& r) { return !r->preempted; });
    return n == 1 && evaluations_.empty();
}

// What imported requests brought is computed again where others can't go on without its room.
bool Worker::take_pages_of_waiting() {
    bool found = false;
    for (Waiting& waiting : waiting_) {
        if (!waiting.request || !waiting.request->imported) continue;
        waiting.request->pages->release();
        waiting.request->n_computed = 0;
        waiting.request->imported = false;
        found = true;
    }
    return found;
}

Status Worker::with_holders(const Status& lack) const {
    return Status(lack.code(), fmt::format("{} The others belong to {} kept requests (keep_state) and {} "
                                           "transfers.",
                                           lack.message(), kept_.size(), n_transfers_.load()));
}

// The first of those that wait has no room. Where nothing runs that could leave some, waiting would never
// end. False: it may wait.
bool Worker::give_up_first() {
    if (!running_.empty() || !evaluations_.empty() || n_transfers_ > 0) return false;
    if (take_pages_of_waiting()) return true;
    Waiting& first = waiting_.front();
    if (first.request) {
        const auto n_tokens = static_cast<uint32_t>(first.request->tokens.size());
        const Status lack =
            first.request->pages->lack_of_room(n_tokens, 0, std::min(n_tokens, limits_.chunk_tokens));
        finish(*first.request, FinishReason::error, with_holders(lack), runtime_->clock().now_ns());
    } else {
        const auto n_tokens = static_cast<uint32_t>(first.job.evaluation->plan().ids.size());
        first.job.evaluation->fail(with_holders(
            first.job.pages->lack_of_room(n_tokens, 0, std::min(n_tokens, limits_.chunk_tokens))));
    }
    waiting_.pop_front();
    return true;
}

// The same for the only one that runs, while no transfer will give pages back: to begin anew would lead here
// again. False: there may be room now.
bool Worker::give_up_alone(RunningRequest& request, uint32_t n_rows) {
    if (take_pages_of_waiting()) return false;
    const Status lack = request.pages->lack_of_room(static_cast<uint32_t>(request.tokens.size()),
                                                    request.n_computed, request.n_computed + n_rows);
    request.outcome.reason = FinishReason::error;
    request.outcome.status = with_holders(lack);
    request.outcome.end_ns = runtime_->clock().now_ns();
    return true;
}

}  // namespace takt
