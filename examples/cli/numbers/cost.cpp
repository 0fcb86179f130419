// Cost per million tokens, its inverse, and when a purchase pays.
#include "numbers/cost.h"

#include <algorithm>

namespace cli {
namespace {

constexpr double kSecondsPerHour = 3600, kMillion = 1e6, kHalfACent = 0.005;

}  // namespace

double cost_per_million(double usd_per_hour, double tokens_per_second) {
    return usd_per_hour * kMillion / (tokens_per_second * kSecondsPerHour);
}

double usd_per_hour(double cost_per_million, double tokens_per_second) {
    return cost_per_million * tokens_per_second * kSecondsPerHour / kMillion;
}

PriceRange prices_behind(double rounded_cost_per_million, double tokens_per_second) {
    return {usd_per_hour(rounded_cost_per_million - kHalfACent, tokens_per_second),
            usd_per_hour(rounded_cost_per_million + kHalfACent, tokens_per_second)};
}

std::optional<PriceRange> common_prices(std::span<const PriceRange> ranges) {
    if (ranges.empty()) return std::nullopt;
    PriceRange common = ranges.front();
    for (const PriceRange& range : ranges) {
        common.low = std::max(common.low, range.low);
        common.high = std::min(common.high, range.high);
    }
    if (common.low >= common.high) return std::nullopt;
    return common;
}

std::optional<double> breakeven_hours(double purchase_price, double rent_per_hour,
                                      double own_running_cost_per_hour) {
    const double saved_per_hour = rent_per_hour - own_running_cost_per_hour;
    if (!(saved_per_hour > 0)) return std::nullopt;
    return purchase_price / saved_per_hour;
}

}  // namespace cli
