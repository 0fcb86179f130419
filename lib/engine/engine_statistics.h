// What an engine has done and holds, for whoever watches it: the worker writes after every step, anyone
// reads.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>

namespace takt {

struct EngineStatistics {
    // Of all state groups together: with a reference; kept for reuse without one; in all.
    uint64_t pages_in_use = 0, pages_cached = 0, pages_total = 0;
    double page_waste =
        std::numeric_limits<double>::quiet_NaN();  // see PageWaste; of groups without a window
    uint64_t n_steps = 0, n_preemptions = 0;
    // Of prompts, until their first token: by steps; taken from earlier work.
    uint64_t prompt_tokens_computed = 0, prompt_tokens_cached = 0;
    uint64_t generated_tokens = 0;
    uint64_t drafted_tokens = 0, accepted_tokens = 0;  // drafts that were verified, and those that were right
    uint32_t page_tokens = 0, max_sequences = 0;
    uint32_t n_running = 0, n_waiting = 0;  // requests
};

class StatisticsBoard {
public:
    void write(const EngineStatistics& statistics) {
        const std::lock_guard lock(mutex_);
        statistics_ = statistics;
    }
    EngineStatistics read() const {
        const std::lock_guard lock(mutex_);
        return statistics_;
    }

private:
    mutable std::mutex mutex_;
    EngineStatistics statistics_;
};

}  // namespace takt
