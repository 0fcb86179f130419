// What the worker tells of itself: counters, and each step.
#include <algorithm>
#include <utility>

#include "engine/worker.h"

namespace takt {
namespace {

constexpr uint64_t kEnergyEveryNs = 60'000'000'000;

}  // namespace

void Worker::record_step(uint64_t begin_ns, uint64_t end_ns, uint32_t n_decode_rows, uint32_t n_prefill_rows,
                         uint32_t prefill_budget) noexcept {
    const uint64_t last_end_ns = record_.end_ns;
    record_ = {};
    record_.index = totals_.n_steps++;
    record_.begin_ns = begin_ns;
    record_.end_ns = std::max(begin_ns, end_ns);
    if (record_.index > 0) record_.gap_ns = elapsed_ns(last_end_ns, begin_ns);
    record_.decode_rows = n_decode_rows;
    record_.prefill_rows = n_prefill_rows;
    record_.prefill_budget = prefill_budget;
    record_.n_running = n_running();
    record_.n_waiting = n_live_ - std::min<uint32_t>(n_live_, record_.n_running);
    const uint64_t ns = record_.end_ns - record_.begin_ns;
    totals_.step_ns += ns;
    if (n_prefill_rows > 0) totals_.prefill_step_ns += ns;
    if (n_decode_rows > 0) totals_.decode_step_ns += ns;
    board_.record_step(n_decode_rows + n_prefill_rows);
    record_cost(step_.batch());
    if (elapsed_ns(energy_read_ns_, record_.end_ns) > kEnergyEveryNs) {
        energy_read_ns_ = record_.end_ns;
        runtime_->energy().microjoules();  // its counters go around
    }
}

void Worker::record_cost(const StepBatch& batch) noexcept {
    StepCostTable::Cost cost;
    bool outputs = false;
    for (const BatchSequence& sequence : batch.sequences) {
        StepShape shape{sequence.n_rows, sequence.first_position, 0};
        for (const OutputWanted wanted : batch.wanted.subspan(sequence.first_row, sequence.n_rows))
            shape.n_output_rows += wanted != OutputWanted::none;
        outputs = outputs || shape.n_output_rows > 0;
        limits_.costs->add_rows(shape, cost);
    }
    limits_.costs->add_weights(outputs, cost);
    totals_.read_bytes += cost.read_bytes;
    totals_.product_operations += cost.product_operations;
    totals_.attention_operations += cost.attention_operations;
}

void Worker::record_drafts(const RunningRequest& request, uint32_t n_accepted) noexcept {
    if (request.n_drafts == 0) return;
    ++totals_.n_draft_steps;
    totals_.drafted_tokens += request.n_drafts;
    totals_.accepted_tokens += n_accepted;
    for (uint32_t i = 0; i < request.n_drafts; ++i) ++totals_.drafted_at[i];
    for (uint32_t i = 0; i < n_accepted; ++i) ++totals_.accepted_at[i];
}

// Before its end is told: who asks in that callback finds it counted.
void Worker::record_end(RunningRequest& request, FinishReason reason, uint64_t end_ns) noexcept {
    if (const uint64_t ns = std::exchange(request.gap.stalled_others_ns, 0); ns > 0)
        request.state->count_stalled_others(ns);
    const Timeline& timeline = request.timeline();
    const TimingSummary summary = summarize_phases(timeline, end_ns);
    board_.record(
        {timeline, summary, reason, request.slo(), end_ns, request.came_imported, request.sequence});
    trace_.record_end(request, reason, end_ns);
    publish_statistics();
    const bool unfinished = outcome_of(reason) != RequestOutcome::ok;
    gaps_.in_callbacks(slo_watch_.ended(request, summary, unfinished, end_ns));
}

void Worker::watch_promises(uint64_t now_ns) {
    slo_watch_.start_over();
    for (const Running& request : running_) gaps_.in_callbacks(slo_watch_.look(*request, now_ns));
    for (const Waiting& waiting : waiting_) {
        if (waiting.request) gaps_.in_callbacks(slo_watch_.look(*waiting.request, now_ns));
    }
}

// After the outputs of a step were taken and before anybody hears of them: those that end still have their
// pages.
void Worker::count_outputs() {
    PageUse use;
    for (const Running& request : running_) {
        use += request->pages->use(request->n_computed);
    }
    page_waste_.record(use);
    publish_statistics();
}

void Worker::publish_statistics() noexcept {
    Gauges now;
    for (PagePool& pool : pools_) {
        now.pages_in_use += pool.n_used();
        now.pages_cached += pool.n_unused_published();
        now.pages_total += pool.n_pages();
        for (const uint64_t ns : pool.lifetimes()) board_.record_page_lifetime(ns);
        pool.forget_lifetimes();
    }
    now.page_waste = page_waste_.value();
    now.page_tokens = limits_.page_tokens;
    now.max_sequences = limits_.max_sequences;
    const uint32_t running = n_running();
    now.n_running = running;
    // A request that is told its end no longer counts, and may still stand in a list.
    now.n_waiting = n_live_ - std::min<uint32_t>(n_live_, running);
    board_.publish(totals_, now);
}

uint32_t Worker::n_running() const noexcept {
    return static_cast<uint32_t>(
        std::ranges::count_if(running_, [](const Running& r) { return r && !r->finished; }));
}

}  // namespace takt
