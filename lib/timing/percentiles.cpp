// n p of an exact rank may come out a rounding error beside it: 0.07 * 100 > 7.
#include "timing/percentiles.h"

#include <algorithm>
#include <cmath>

namespace takt {
namespace {

constexpr double kRounding = 1e-12;

}  // namespace

PercentilePlace percentile_place(uint64_t n, double p, PercentileRule rule) {
    const auto count = static_cast<double>(n);
    const double last = count - 1;
    const auto place = [&](double index) { return static_cast<uint64_t>(std::clamp(index, 0.0, last)); };
    switch (rule) {
        case PercentileRule::loadgen: {
            const uint64_t at = place(std::floor(count * p * (1 + kRounding)));
            return {at, at, 0};
        }
        case PercentileRule::linear: {
            const double index = last * p, below = std::floor(index);
            return {place(below), place(below + 1), index - below};
        }
        default: {
            const uint64_t at = place(std::ceil(count * p * (1 - kRounding)) - 1);
            return {at, at, 0};
        }
    }
}

double percentile(std::span<const double> sorted, double p, PercentileRule rule) {
    if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
    const PercentilePlace place = percentile_place(sorted.size(), p, rule);
    const double below = sorted[place.below], above = sorted[place.above];
    if (place.between == 0 || below == above || std::isinf(below)) return below;
    return std::isinf(above) ? above : below + (above - below) * place.between;
}

Distribution summarize(std::vector<double> samples) {
    Distribution distribution;
    distribution.count = samples.size();
    if (samples.empty()) return distribution;
    std::sort(samples.begin(), samples.end());
    distribution.p50 = percentile(samples, 0.50);
    distribution.p95 = percentile(samples, 0.95);
    distribution.p99 = percentile(samples, 0.99);
    distribution.max = samples.back();
    return distribution;
}

}  // namespace takt
