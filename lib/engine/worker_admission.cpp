// Who runs, who waits, who gives way, and which rows the next step has.
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/worker.h"

namespace takt {

// Higher priority first, then who was submitted first: a preempted request stands where it stood.
void Worker::put_in_order(std::list<Waiting>& list, std::list<Waiting>::iterator place) {
    const auto before = [](const Waiting& a, const Waiting& b) {
        return a.priority() != b.priority() ? a.priority() > b.priority() : a.number() < b.number();
    };
    auto to = place;
    while (to != list.begin() && before(*place, *std::prev(to))) --to;
    list.splice(to, list, place);
}

// In the order of the queue: one that doesn't fit yet holds back those behind it, so that it isn't starved.
void Worker::admit() {
    pages_came_free_ = false;
    while (!waiting_.empty() && running_.size() + evaluations_.size() < limits_.max_sequences) {
        Waiting& first = waiting_.front();
        if (first.request) {
            if (!admit_request(*first.request)) {
                if (give_up_first()) continue;
                break;
            }
            const auto place = std::ranges::find_if(
                running_, [&](const Running& r) { return first.request->goes_before(*r); });
            running_.insert(place, std::move(first.request));
        } else {
            if (!first.job.pages->reserve(n_promised_pages())) {
                if (give_up_first()) continue;
                break;
            }
            evaluations_.push_back(std::move(first.job));
        }
        waiting_.pop_front();
    }
}

// Pages for prompts that run are taken as these are computed, so that none is in use and empty; until then
// they are spoken for.
uint32_t Worker::n_promised_pages() const {
    uint32_t n = 0;
    for (const Running& r : running_) {
        if (r->in_prefill()) n += r->pages->n_missing(static_cast<uint32_t>(r->tokens.size()));
    }
    return n;
}

// Its tokens so far must fit, with a page for each that runs and may want one: else it would take pages that
// are soon wanted back.
bool Worker::admit_request(RunningRequest& request) {
    SequencePages& pages = *request.pages;
    const auto n_tokens = static_cast<uint32_t>(request.tokens.size());
    request.n_computed = begin_with_known(request);
    const auto spare = static_cast<uint32_t>(std::ranges::count_if(running_, [this](const Running& r) {
        const uint32_t page = limits_.page_tokens;
        uint64_t reach = r->pages->n_reachable();
        if (r->in_prefill()) reach = std::max(reach, uint64_t{pages_for(r->tokens.size(), page)} * page);
        return reach + 1 < r->max_total;  // the last token is never computed
    }));
    const uint32_t first_step_end = std::min(n_tokens, request.n_computed + limits_.chunk_tokens);
    if (!pages.has_room(n_tokens, request.n_computed, first_step_end, spare, n_promised_pages())) {
        if (request.imported) return false;  // holds what it brought
        pages.release();
        request.n_computed = 0;
        return false;
    }
    request.imported = request.preempted = false;
    request.source = nullptr;
    return true;
}

// The last in the order of those that aren't in this step gives way until the rows fit; it may be the request
// itself.
bool Worker::make_room(RunningRequest& request, uint32_t n_rows) {
    while (!request.pages->cover(request.n_computed, request.n_computed + n_rows)) {
        const auto last = std::find_if(running_.rbegin(), running_.rend(), [](const Running& r) {
            return !r->preempted && !r->finished && r->n_rows == 0;
        });
        if (last->get() == &request && is_alone() && n_transfers_ == 0) {
            if (give_up_alone(request, n_rows)) return false;
            continue;
        }
        preempt(**last);
        if (last->get() == &request) return false;
    }
    return copy_pages(request);
}

void Worker::preempt(RunningRequest& request) {
    request.pages->release();
    if (request.drafts) request.drafts->release();
    request.n_computed = 0;
    request.preempted = true;
    request.preempted_ns = runtime_->clock().now_ns();
    request.state->count_preemption();
    gaps_.preempted(request);
    ++totals_.n_preemptions;
    pages_came_free_ = true;
    if (const uint64_t deadline = request.state->options().deadline_ns; deadline != 0)
        next_deadline_ns_ = std::min(next_deadline_ns_, deadline);  // it waits again
}

void Worker::take_out_preempted() {
    for (size_t i = 0; i < running_.size();) {
        if (!running_[i]->preempted) {
            ++i;
            continue;
        }
        waiting_.emplace_back();  // where memory for it lacks, the request still runs, and is told so
        waiting_.back().request = std::move(running_[i]);
        running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
        put_in_order(waiting_, std::prev(waiting_.end()));
    }
}

void Worker::stamp_scheduled(RunningRequest& request, uint64_t now_ns) {
    if (!std::exchange(request.scheduled, true)) {
        request.state->stamp_scheduled(now_ns, request.n_computed);
        totals_.prompt_tokens += request.n_prompt;
        totals_.prompt_tokens_cached += request.n_computed;
    }
    if (!request.preempted_ns) return;
    const uint64_t waited_ns = elapsed_ns(*request.preempted_ns, now_ns);
    if (request.n_generated() == 0) request.state->count_preempted_time(waited_ns);
    gaps_.resumed(request, waited_ns);
    request.preempted_ns.reset();
}

// Every one has its row before anyone has drafts: these take pages only where some are left.
void Worker::add_decode_rows() {
    const auto decodes = [](const Running& r) { return !r->preempted && !r->in_prefill(); };
    for (const Running& request : running_) {
        if (decodes(request) && make_room(*request, 1)) request->n_rows = 1;
    }
    for (const Running& request : running_) {
        if (request->n_rows == 0) continue;
        auto n_drafts = request->drafts ? static_cast<uint32_t>(request->drafts->ids.size()) : 0;
        const uint32_t n_positions = request->n_computed + 1;
        if (n_drafts > 0 && !request->pages->cover(request->n_computed, n_positions + n_drafts))
            n_drafts = std::min(n_drafts, request->pages->n_reachable() - n_positions);
        step_.add_decode_rows(*request, n_drafts);
    }
}

// Prompts that are partly done, then new ones.
void Worker::add_prompt_rows(uint32_t budget) {
    for (const bool begun : {true, false}) {
        for (const Running& request : running_) {
            if (request->preempted || !request->in_prefill() || request->n_rows > 0) continue;
            if ((request->n_computed > 0) != begun || budget == 0) continue;
            // What came with it may have computed the same start since it was admitted.
            if (!begun && limits_.prefix_reuse) request->n_computed = request->pages->reuse(request->tokens);
            uint32_t n_rows = std::min(budget, request->n_to_compute());
            if (limits_.prefix_reuse) n_rows = request->pages->rows_to_snapshot(request->n_computed, n_rows);
            if (!make_room(*request, n_rows)) continue;
            step_.add_rows(*request, n_rows);
            budget -= n_rows;
        }
    }
}

void Worker::build_step() {
    step_.clear();
    for (const Running& request : running_) {
        request->n_rows = request->n_drafts = 0;
        request->outcome.clear();
    }
    add_decode_rows();
    n_decode_rows_ = step_.n_rows();
    prefill_budget_ = std::min(budget_.prompt_rows(n_decode_rows_), limits_.max_rows - n_decode_rows_);
    add_prompt_rows(prefill_budget_);
    take_out_preempted();
}

}  // namespace takt
