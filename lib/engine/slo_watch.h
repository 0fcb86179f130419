// Tells of a bound at the moment it is broken, once a request and bound.
#pragma once

#include <cstdint>
#include <utility>

#include "engine/listener.h"
#include "engine/running_request.h"
#include "engine/slo_miss.h"

namespace takt {

// On the worker's thread.
class SloWatch {
public:
    explicit SloWatch(Listener<SloMiss>& listener) : listener_(listener) {}

    // When a request is over a bound next though no token comes; UINT64_MAX: never.
    uint64_t next_ns() const { return next_ns_; }
    // Before all requests are looked at again.
    void start_over() { next_ns_ = UINT64_MAX; }
    // Whether time alone has broken a bound. Returns what callbacks took, as all of these.
    uint64_t look(RunningRequest& request, uint64_t now_ns);
    // n_tokens came with one stamp, gap_ns after those before them.
    uint64_t tokens_came(RunningRequest& request, uint64_t gap_ns, uint32_t n_tokens, uint64_t sampled_ns);
    uint64_t ended(RunningRequest& request, const TimingSummary& summary, bool unfinished, uint64_t end_ns);

private:
    void tell(RunningRequest& request, Bound bound, uint64_t value_ns, uint64_t at_ns, uint64_t token_index);
    uint64_t take_callback_ns() { return std::exchange(callback_ns_, 0); }

    Listener<SloMiss>& listener_;
    uint64_t next_ns_ = UINT64_MAX;
    uint64_t callback_ns_ = 0;  // of the call that runs
};

}  // namespace takt
