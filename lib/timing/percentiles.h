// Percentiles of samples by the rules that are in use; nearest rank unless asked otherwise.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace takt {

enum class PercentileRule : uint32_t {
    nearest_rank,  // x[ceil(n p) - 1]
    loadgen,       // x[floor(n p)], as MLPerf's LoadGen has it
    linear,        // between x[floor((n - 1) p)] and the next, as numpy has it
};

// Places of one or two sorted samples from 0, and how far the value lies between them. n > 0, p in [0, 1].
struct PercentilePlace {
    uint64_t below = 0, above = 0;
    double between = 0;  // 0: below, 1: above
};
PercentilePlace percentile_place(uint64_t n, double p, PercentileRule rule);

// NaN without samples.
double percentile(std::span<const double> sorted, double p,
                  PercentileRule rule = PercentileRule::nearest_rank);

// Nearest rank.
struct Distribution {
    uint64_t count = 0;
    double p50 = std::numeric_limits<double>::quiet_NaN(), p95 = p50, p99 = p50, max = p50;
};
Distribution summarize(std::vector<double> samples);

}  // namespace takt
