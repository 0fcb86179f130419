// The binomial tail and the least count behind it.
#include "numbers/early_stopping.h"

#include <cmath>

namespace cli {
namespace {

constexpr double kRisk = 0.01;

// P(X <= k) of n draws with probability q.
double binomial_cdf(uint64_t k, uint64_t n, double q) {
    if (k >= n) return 1;
    const double log_q = std::log(q), log_rest = std::log1p(-q);
    const auto draws = static_cast<double>(n);
    double log_choose = 0, sum = 0;  // of n over i
    for (uint64_t i = 0; i <= k; ++i) {
        const auto hits = static_cast<double>(i);
        if (i > 0) log_choose += std::log((draws - hits + 1) / hits);
        sum += std::exp(log_choose + hits * log_q + (draws - hits) * log_rest);
    }
    return sum;
}

}  // namespace

uint64_t early_stopping_queries(uint64_t n_over, double percentile) {
    const auto suffices = [&](uint64_t n) { return binomial_cdf(n_over, n, 1 - percentile) < kRisk; };
    uint64_t too_few = n_over, enough = n_over + 1;
    while (!suffices(enough)) {
        too_few = enough;
        enough *= 2;
    }
    while (enough - too_few > 1) {
        const uint64_t middle = too_few + (enough - too_few) / 2;
        (suffices(middle) ? enough : too_few) = middle;
    }
    return enough;
}

std::optional<uint64_t> early_stopping_rank(uint64_t n_queries, double percentile) {
    std::optional<uint64_t> rank;
    for (uint64_t t = 1; t <= n_queries && early_stopping_queries(t, percentile) <= n_queries; ++t) rank = t;
    return rank;
}

}  // namespace cli
