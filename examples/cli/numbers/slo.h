// Service-level objectives: bounds of one request, who met them, goodput.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cli {

// Bounds in nanoseconds; 0: none.
struct Slo {
    uint64_t ttft_ns = 0, tpot_ns = 0, itl_ns = 0, e2e_ns = 0;
    bool any() const { return ttft_ns != 0 || tpot_ns != 0 || itl_ns != 0 || e2e_ns != 0; }
};

enum class RequestEnd { completed, failed, cancelled };

// What a bound is held against; nothing where undefined (TPOT and ITL of one token, TTFT of none).
struct RequestTimes {
    RequestEnd end = RequestEnd::completed;
    std::optional<double> ttft_ns, tpot_ns, longest_itl_ns;
    double e2e_ns = 0;
    uint64_t n_tokens = 0;
};

// True: every bound that has a value is kept, being at it included. A failed request is a miss, a cancelled
// one is out (nothing) unless it was over a bound already.
std::optional<bool> meets(const RequestTimes& request, const Slo& slo);

struct Attainment {
    uint64_t n_good = 0, n_judged = 0, good_tokens = 0;
    // Nothing where no request was judged.
    std::optional<double> share() const;
};
Attainment attainment(const std::vector<RequestTimes>& requests, const Slo& slo);

struct Interval {
    double low = 0, high = 1;
};
// Wilson's 95 % bounds of a share.
Interval wilson_95(uint64_t n_hits, uint64_t n_all);

}  // namespace cli
