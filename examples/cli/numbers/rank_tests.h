// Rank tests of two lists of samples, with the intervals that follow from them: no shape of the noise is
// assumed, and nothing is drawn at random.
#pragma once

#include <cstddef>
#include <vector>

namespace cli {

struct RankTest {
    double p_value = 1;   // two-sided
    double estimate = 0;  // Hodges-Lehmann's shift
    double low = 0;  // its interval at the confidence; -infinity and infinity where n is too small for one
    double high = 0;
};

// Wilcoxon's signed-rank test of paired differences; zeros are left out. Exact up to 200 of them, with ties.
RankTest signed_rank_test(const std::vector<double>& differences, double confidence);

// Mann and Whitney's test of second against first. Exact while the product of the counts is at most 2500,
// with ties.
RankTest rank_sum_test(const std::vector<double>& first, const std::vector<double>& second,
                       double confidence);

// The smallest two-sided p-value there can be.
double least_signed_rank_p(std::size_t n_pairs);
double least_rank_sum_p(std::size_t n_first, std::size_t n_second);

}  // namespace cli
