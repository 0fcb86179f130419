// Null distributions by counting, normal approximations beyond; intervals by inverting the tests.
#include "numbers/rank_tests.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

namespace cli {
namespace {

constexpr std::size_t kExactPairs = 200, kExactProduct = 2500, kExactSum = 200;

// Counting the subsets of the smaller list takes time with the cube of all.
bool is_counted(std::size_t n_first, std::size_t n_second) {
    return n_first * n_second <= kExactProduct && n_first + n_second <= kExactSum;
}

double normal_below(double z) {
    return std::erfc(-z / std::sqrt(2.0)) / 2;
}

// z with P(Z <= z) = p.
double normal_quantile(double p) {
    double low = -40, high = 40;
    for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        (normal_below(middle) < p ? low : high) = middle;
    }
    return low;
}

// Twice the rank of each value, so that the mean rank of equal ones is a whole number.
struct DoubledRanks {
    std::vector<std::size_t> ranks;
    double ties = 0;  // sum of t^3 - t over runs of t equal values
};

DoubledRanks doubled_ranks(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    DoubledRanks result{std::vector<std::size_t>(values.size()), 0};
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin + 1;
        while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
        for (std::size_t i = begin; i < end; ++i) result.ranks[order[i]] = begin + 1 + end;
        const auto run = static_cast<double>(end - begin);
        result.ties += run * run * run - run;
        begin = end;
    }
    return result;
}

// Of all subsets of the ranks: P(sum = s).
std::vector<double> subset_sums(const std::vector<std::size_t>& ranks) {
    std::vector<double> p(std::accumulate(ranks.begin(), ranks.end(), std::size_t{1}));
    p[0] = 1;
    std::size_t top = 0;
    for (const std::size_t rank : ranks) {
        for (std::size_t s = top + 1; s-- > 0;) {
            p[s] /= 2;
            p[s + rank] += p[s];
        }
        top += rank;
    }
    return p;
}

// Of the subsets of exactly n ranks: P(sum = s).
std::vector<double> subset_sums(const std::vector<std::size_t>& ranks, std::size_t n) {
    const std::size_t size = std::accumulate(ranks.begin(), ranks.end(), std::size_t{1});
    std::vector<std::vector<double>> counts(n + 1, std::vector<double>(size));
    counts[0][0] = 1;
    std::size_t top = 0, taken = 0;
    for (const std::size_t rank : ranks) {
        top += rank;
        taken = std::min(n, taken + 1);
        for (std::size_t k = taken; k > 0; --k) {
            for (std::size_t s = rank; s <= top; ++s) counts[k][s] += counts[k - 1][s - rank];
        }
    }
    std::vector<double> p = std::move(counts[n]);
    const double all = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& value : p) value /= all;
    return p;
}

double two_sided(const std::vector<double>& p, std::size_t at) {
    const auto middle = p.begin() + static_cast<std::ptrdiff_t>(at);
    const double below = std::accumulate(p.begin(), middle + 1, 0.0);
    const double above = std::accumulate(middle, p.end(), 0.0);
    return std::min(1.0, 2 * std::min(below, above));
}

double two_sided(double statistic, double mean, double deviation) {
    if (deviation == 0) return 1;
    const double distance = std::max(0.0, std::abs(statistic - mean) - 0.5);
    return std::min(1.0, 2 * normal_below(-distance / deviation));
}

// The largest k with P(statistic <= k) <= risk; nothing if even 0 is likelier.
std::optional<std::size_t> critical(const std::vector<double>& p, double risk) {
    double below = 0;
    std::size_t n = 0;
    while (n < p.size() && (below += p[n]) <= risk * (1 + 1e-12)) ++n;
    return n == 0 ? std::nullopt : std::optional<std::size_t>(n - 1);
}

std::optional<std::size_t> critical(double mean, double deviation, double risk) {
    const double k = std::floor(mean + normal_quantile(risk) * deviation - 0.5);
    return k < 0 ? std::nullopt : std::optional<std::size_t>(static_cast<std::size_t>(k));
}

// The estimate and the interval from all shifts at which the statistic changes by one.
void invert(RankTest& test, std::vector<double> shifts, const std::optional<std::size_t>& k) {
    std::sort(shifts.begin(), shifts.end());
    const std::size_t n = shifts.size();
    test.estimate = n % 2 == 1 ? shifts[n / 2] : (shifts[n / 2 - 1] + shifts[n / 2]) / 2;
    const bool bounded = k.has_value() && 2 * *k < n;
    test.low = bounded ? shifts[*k] : -std::numeric_limits<double>::infinity();
    test.high = bounded ? shifts[n - 1 - *k] : std::numeric_limits<double>::infinity();
}

std::vector<std::size_t> untied_ranks(std::size_t n) {
    std::vector<std::size_t> ranks(n);
    std::iota(ranks.begin(), ranks.end(), std::size_t{1});
    return ranks;
}

double signed_rank_p(const std::vector<double>& differences) {
    std::vector<double> sizes;
    for (const double d : differences) {
        if (d != 0) sizes.push_back(std::abs(d));
    }
    if (sizes.empty()) return 1;
    const DoubledRanks ranked = doubled_ranks(sizes);
    std::size_t positive = 0, i = 0;
    for (const double d : differences) {
        if (d == 0) continue;
        if (d > 0) positive += ranked.ranks[i];
        ++i;
    }
    if (sizes.size() <= kExactPairs) return two_sided(subset_sums(ranked.ranks), positive);
    const auto n = static_cast<double>(sizes.size());
    const double variance = n * (n + 1) * (2 * n + 1) / 24 - ranked.ties / 48;
    return two_sided(static_cast<double>(positive) / 2, n * (n + 1) / 4, std::sqrt(variance));
}

std::optional<std::size_t> signed_rank_critical(std::size_t n_pairs, double risk) {
    if (n_pairs <= kExactPairs) return critical(subset_sums(untied_ranks(n_pairs)), risk);
    const auto n = static_cast<double>(n_pairs);
    return critical(n * (n + 1) / 4, std::sqrt(n * (n + 1) * (2 * n + 1) / 24), risk);
}

double rank_sum_p(const std::vector<double>& first, const std::vector<double>& second) {
    std::vector<double> all = second;
    all.insert(all.end(), first.begin(), first.end());
    const DoubledRanks ranked = doubled_ranks(all);
    const auto end = ranked.ranks.begin() + static_cast<std::ptrdiff_t>(second.size());
    const std::size_t sum = std::accumulate(ranked.ranks.begin(), end, std::size_t{0});
    if (is_counted(first.size(), second.size())) {
        if (second.size() <= first.size()) return two_sided(subset_sums(ranked.ranks, second.size()), sum);
        const std::size_t others = std::accumulate(end, ranked.ranks.end(), std::size_t{0});
        return two_sided(subset_sums(ranked.ranks, first.size()), others);
    }
    const auto m = static_cast<double>(second.size()), n = static_cast<double>(first.size()), both = m + n;
    const double variance = m * n / 12 * (both + 1 - ranked.ties / (both * (both - 1)));
    return two_sided(static_cast<double>(sum) / 2, m * (both + 1) / 2, std::sqrt(variance));
}

std::optional<std::size_t> rank_sum_critical(std::size_t n_first, std::size_t n_second, double risk) {
    const auto m = static_cast<double>(n_second), n = static_cast<double>(n_first);
    if (!is_counted(n_first, n_second)) return critical(m * n / 2, std::sqrt(m * n * (m + n + 1) / 12), risk);
    const std::size_t fewer = std::min(n_first, n_second);  // the same from either side
    std::vector<double> p = subset_sums(untied_ranks(n_first + n_second), fewer);
    const std::size_t least = fewer * (fewer + 1) / 2;  // no pair where these are the larger
    p.erase(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(least));
    return critical(p, risk);
}

}  // namespace

RankTest signed_rank_test(const std::vector<double>& differences, double confidence) {
    RankTest test;
    if (differences.empty()) return test;
    test.p_value = signed_rank_p(differences);
    std::vector<double> walsh;
    for (std::size_t i = 0; i < differences.size(); ++i) {
        for (std::size_t j = i; j < differences.size(); ++j)
            walsh.push_back((differences[i] + differences[j]) / 2);
    }
    invert(test, std::move(walsh), signed_rank_critical(differences.size(), (1 - confidence) / 2));
    return test;
}

RankTest rank_sum_test(const std::vector<double>& first, const std::vector<double>& second,
                       double confidence) {
    RankTest test;
    if (first.empty() || second.empty()) return test;
    test.p_value = rank_sum_p(first, second);
    std::vector<double> shifts;
    for (const double b : second) {
        for (const double a : first) shifts.push_back(b - a);
    }
    invert(test, std::move(shifts), rank_sum_critical(first.size(), second.size(), (1 - confidence) / 2));
    return test;
}

double least_signed_rank_p(std::size_t n_pairs) {
    return n_pairs == 0 ? 1 : std::exp2(1 - static_cast<double>(n_pairs));
}

double least_rank_sum_p(std::size_t n_first, std::size_t n_second) {
    double choices = 1;
    for (std::size_t i = 1; i <= n_second; ++i)
        choices *= static_cast<double>(n_first + i) / static_cast<double>(i);
    return std::min(1.0, 2 / choices);
}

}  // namespace cli
