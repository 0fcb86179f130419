// Ranks of percentiles.
#include "numbers/percentiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cli {

std::optional<PercentileRule> percentile_rule(std::string_view name) {
    for (const PercentileRule rule :
         {PercentileRule::nearest_rank, PercentileRule::loadgen, PercentileRule::linear}) {
        if (name == name_of(rule)) return rule;
    }
    return std::nullopt;
}

const char* name_of(PercentileRule rule) {
    switch (rule) {
        case PercentileRule::loadgen:
            return "loadgen";
        case PercentileRule::linear:
            return "linear";
        case PercentileRule::nearest_rank:
            break;
    }
    return "nearest_rank";
}

double percentile(const std::vector<double>& sorted, double p, PercentileRule rule) {
    if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
    constexpr double kRounding = 1e-9;  // 100 * 0.07 is a little over 7
    const auto n = static_cast<double>(sorted.size());
    const std::size_t last = sorted.size() - 1;
    if (rule == PercentileRule::nearest_rank) {
        const double rank = std::max(1.0, std::ceil(n * p - kRounding));
        return sorted[std::min(last, static_cast<std::size_t>(rank) - 1)];
    }
    if (rule == PercentileRule::loadgen) return sorted[std::min(last, static_cast<std::size_t>(n * p))];
    const double place = (n - 1) * p;
    const auto below = static_cast<std::size_t>(place);
    const double low = sorted[below], high = sorted[std::min(last, below + 1)];
    const double part = place - static_cast<double>(below);
    return part == 0 || low == high ? low : low + part * (high - low);
}

}  // namespace cli
