// Queue, prefill, decode, finish, TTFT, TPOT, ITL, step gap and rates of one request, from its timeline.
#pragma once

#include <cstdint>
#include <optional>

#include "timing/percentiles.h"
#include "timing/timeline.h"

namespace takt {

struct TimingSummary {
    // queue + prefill + decode + finish == e2e, always. A running request is summed up to now_ns.
    uint64_t queue_ns = 0, prefill_ns = 0, preempted_ns = 0, handover_ns = 0, decode_ns = 0, finish_ns = 0,
             e2e_ns = 0;
    std::optional<uint64_t> ttft_ns;
    std::optional<double> tpot_ns, tpot_n1_ns;
    std::optional<double> longest_itl_ns;
    Distribution step_gap_ns, itl_ns;
    uint64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
    std::optional<double> prefill_tokens_per_second, decode_tokens_per_second;
};

// Stamps that go back (a caller's clock may) count as standing still: no duration is ever negative.
TimingSummary summarize_timeline(const Timeline& timeline, uint64_t now_ns);
// The same without the distributions; allocates nothing.
TimingSummary summarize_phases(const Timeline& timeline, uint64_t now_ns);

}  // namespace takt
