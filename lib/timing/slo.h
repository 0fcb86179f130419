// Promises: bounds on a request's times, whether it kept them, and what many of them amount to.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "timing/finish_reason.h"
#include "timing/timeline.h"
#include "timing/timing_summary.h"

namespace takt {

enum class Bound : uint32_t { ttft, tpot, itl, e2e };
inline constexpr uint32_t kBounds = 4;
constexpr std::string_view bound_name(Bound bound) {
    return std::array<std::string_view, kBounds>{"ttft", "tpot", "itl", "e2e"}[static_cast<size_t>(bound)];
}
constexpr uint32_t bit(Bound bound) {
    return 1u << static_cast<uint32_t>(bound);
}

// In ns; 0: no bound. A value at its bound keeps it. ITL binds every token.
struct Slo {
    uint64_t ttft_ns = 0, tpot_ns = 0, itl_ns = 0, e2e_ns = 0;
    bool has_bounds() const { return (ttft_ns | tpot_ns | itl_ns | e2e_ns) != 0; }
    uint64_t bound_ns(Bound bound) const {
        return std::array{ttft_ns, tpot_ns, itl_ns, e2e_ns}[static_cast<size_t>(bound)];
    }
};

struct SloPreset {
    std::string_view name;
    Slo slo;
    double percentile;  // of requests that must keep it
};
std::span<const SloPreset> slo_presets();

// Bits of the bounds that are broken. A value that isn't defined keeps its bound; with `unfinished` the token
// that didn't come counts as come when the request ended.
uint32_t broken_bounds(const TimingSummary& summary, const Slo& slo, bool unfinished);

enum class SloVerdict : uint32_t { not_judged, good, missed };
// Cancelled requests are judged only where they were over a bound before; failed ones have missed.
SloVerdict judge(uint32_t broken, const Slo& slo, RequestOutcome outcome);

// Of a share k / n at 95 %; both NaN where n is 0.
struct Interval {
    double low, high;
};
Interval wilson_interval(uint64_t k, uint64_t n);

// Smooth goodput after arXiv:2410.14257v2, Eqs. 5 and 9 to 11: a token is due every seconds_per_token from
// the origin on, and a request earns its tokens less alpha for each second that its latest token was late.
struct SmoothRule {
    double seconds_per_token = 0.2, alpha = 2.5;
    bool from_first_token = false;  // the origin of v1; else the arrival, as v2 has it
};
// max over tokens of (time - due), in seconds; early is negative. `unfinished`: the next token was still due
// when it ended, at ended_ns, and so is the first one of a request without tokens.
double idle_latency(const Timeline& timeline, uint64_t ended_ns, bool unfinished, const SmoothRule& rule);
double smooth_benefit(uint64_t n_tokens, double latency_seconds, const SmoothRule& rule);

}  // namespace takt
