// What the worker tells of itself: counters.
#include <algorithm>

#include "engine/worker.h"

namespace takt {

// After the outputs of a step were taken and before anybody hears of them: those that end still have their
// pages.
void Worker::count_outputs() {
    PageUse use;
    for (const Running& request : running_) {
        if (request->outcome.has_token) statistics_.generated_tokens += request->outcome.stamp.n_tokens;
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
        std::ranges::count_if(running_, [](const Running& r) { return !r->finished; }));
}

}  // namespace takt
