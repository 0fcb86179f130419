// The last steps of an engine and the requests that ended meanwhile, for a picture of a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/running_request.h"
#include "engine/step_record.h"

namespace takt {

// The worker records, without allocating; anyone reads.
class StepTrace {
public:
    // 0: nothing is remembered.
    StepTrace(uint32_t n_steps, uint32_t max_sequences);

    void record(const StepRecord& step, std::span<const std::unique_ptr<RunningRequest>> running);
    void record_end(const RunningRequest& request, FinishReason reason, uint64_t end_ns);
    // The Trace Event Format of Chrome and Perfetto. process: what the engine is called.
    std::string json(const std::string& process) const;

private:
    struct Rows {
        uint64_t request = 0;
        uint32_t n_rows = 0, n_drafts = 0, n_tokens = 0;
        bool prefill = false;
    };
    struct Step {
        StepRecord record;
        uint64_t first_rows = 0;  // in the ring of rows, of all that ever came
        uint32_t n_rows = 0;
    };
    struct Ended {
        uint64_t request = 0, submitted_ns = 0, scheduled_ns = 0, first_token_ns = 0, last_token_ns = 0,
                 ended_ns = 0;
        uint64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
        FinishReason reason = FinishReason::none;
    };
    // What was put in last, in a ring that is sized when made.
    template <typename T>
    struct Ring {
        std::vector<T> items;
        uint64_t n = 0;  // that ever came
        void put(const T& item) { items[n++ % items.size()] = item; }
        size_t size() const { return static_cast<size_t>(std::min<uint64_t>(n, items.size())); }
        const T& from_oldest(size_t i) const { return items[(n - size() + i) % items.size()]; }
    };

    struct Kept {
        Kept(uint32_t n_steps, uint32_t max_sequences);
        Ring<Step> steps;
        Ring<Ended> ended;
        Ring<Rows> rows;
    };
    Kept copy() const;

    const uint32_t n_steps_, max_sequences_;
    mutable std::mutex mutex_;
    Kept kept_;
};

}  // namespace takt
