// What the worker tells of itself: counters, and each step.
#include <algorithm>

#include "engine/worker.h"

namespace takt {

void Worker::record_step(uint64_t begin_ns, uint64_t end_ns, uint32_t n_decode_rows, uint32_t n_prefill_rows,
                         uint32_t prefill_budget) noexcept {
    const uint64_t last_end_ns = record_.end_ns;
    record_ = {};
    record_.index = statistics_.n_steps++;
    record_.begin_ns = begin_ns;
    record_.end_ns = std::max(begin_ns, end_ns);
    if (record_.index > 0) record_.gap_ns = begin_ns - std::min(begin_ns, last_end_ns);
    record_.decode_rows = n_decode_rows;
    record_.prefill_rows = n_prefill_rows;
    record_.prefill_budget = prefill_budget;
    record_.n_running = n_running();
    record_.n_waiting = n_live_ - std::min<uint32_t>(n_live_, record_.n_running);
}

void Worker::tell_step() noexcept {
    if (!listener_.on_step || !tells_steps_) return;
    const CallbackThreads::Scope scope(listener_.callbacks.get());
    try {
        listener_.on_step(record_);
    } catch (...) {
        tells_steps_ = false;
        runtime_->logger().log(LogLevel::error,
                               "The step callback threw an exception; it is not called any more.");
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
    EngineStatistics& now = statistics_;
    now.pages_in_use = now.pages_cached = now.pages_total = 0;
    for (const PagePool& pool : pools_) {
        now.pages_in_use += pool.n_used();
        now.pages_cached += pool.n_unused_published();
        now.pages_total += pool.n_pages();
    }
    now.page_waste = page_waste_.value();
    now.page_tokens = limits_.page_tokens;
    now.max_sequences = limits_.max_sequences;
    now.n_running = n_running();
    // A request that is told its end no longer counts, and may still stand in a list.
    now.n_waiting = n_live_ - std::min<uint32_t>(n_live_, now.n_running);
    board_.write(now);
}

uint32_t Worker::n_running() const noexcept {
    return static_cast<uint32_t>(
        std::ranges::count_if(running_, [](const Running& r) { return r && !r->finished; }));
}

}  // namespace takt
