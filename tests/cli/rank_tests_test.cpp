// Rank tests against values that are known exactly: by counting, and from SciPy's documentation.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "numbers/rank_tests.h"

namespace {

using Samples = std::vector<double>;

TEST_CASE("signed ranks: exact p-values") {
    CHECK(cli::signed_rank_test({1, 2, 3, 4, 5, 6, 7, 8}, 0.99).p_value == 2.0 / 256);
    CHECK(cli::signed_rank_test({1, -2, 3}, 0.9).p_value == 0.75);  // sums 2, 4: P(at most 2) = 3 / 8
    CHECK(cli::signed_rank_test({0, 0, 0}, 0.9).p_value == 1);
    // Cross- and self-fertilized corn, scipy.stats.wilcoxon's example.
    const Samples corn = {6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75};
    CHECK(cli::signed_rank_test(corn, 0.95).p_value == 0.041259765625);
}

TEST_CASE("signed ranks: equal sizes have their mean rank, zeros none") {
    // Ranks 1.5, 1.5, 3 of 1, 1, 2; -1 alone is negative: P(sum of negatives <= 1.5) = 3 / 8.
    CHECK(cli::signed_rank_test({1, -1, 2, 0}, 0.9).p_value == 0.75);
    CHECK(cli::signed_rank_test({2, 2, 2, 2, 2}, 0.9).p_value == 2.0 / 32);
}

TEST_CASE("signed ranks: the interval holds the shifts that are not refused") {
    // n = 6 at 0.95: P(T <= 0) = 1 / 64 <= 0.025 < P(T <= 1), so all but the outermost means of two.
    const cli::RankTest test = cli::signed_rank_test({1, 2, 3, 4, 5, 6}, 0.95);
    CHECK(test.estimate == 3.5);
    CHECK(test.low == 1);
    CHECK(test.high == 6);
    CHECK(std::isinf(cli::signed_rank_test({1, 2, 3}, 0.95).high));
    // For n = 15 tables give 25 as the critical value at 0.05: the 26th of 120 means from either end.
    Samples squares;
    for (int i = 1; i <= 15; ++i) squares.push_back(i * i);
    Samples means;
    for (std::size_t i = 0; i < 15; ++i) {
        for (std::size_t j = i; j < 15; ++j) means.push_back((squares[i] + squares[j]) / 2);
    }
    std::sort(means.begin(), means.end());
    const cli::RankTest wide = cli::signed_rank_test(squares, 0.95);
    CHECK(wide.low == means[25]);
    CHECK(wide.high == means[120 - 1 - 25]);
}

TEST_CASE("rank sums: exact p-values") {
    CHECK(cli::rank_sum_test({1, 2, 3}, {4, 5, 6}, 0.9).p_value == Approx(2.0 / 20));
    CHECK(cli::rank_sum_test({4, 5, 6}, {1, 2, 3}, 0.9).p_value == Approx(2.0 / 20));
    CHECK(cli::rank_sum_test({1, 1, 1}, {1, 1, 1}, 0.9).p_value == 1);
    // Ages at a diagnosis, scipy.stats.mannwhitneyu's example.
    CHECK(cli::rank_sum_test({20, 11, 17, 12}, {19, 22, 16, 29, 24}, 0.95).p_value == Approx(1.0 / 9));
}

TEST_CASE("rank sums: the interval holds the shifts that are not refused") {
    // 5 and 5 at 0.95: tables give 2 as the critical value, so the third of 25 differences from either end.
    const Samples first = {1, 2.5, 4.25, 7, 11.5}, second = {20, 21.5, 24.75, 28, 32.25};
    Samples differences;
    for (const double b : second) {
        for (const double a : first) differences.push_back(b - a);
    }
    std::sort(differences.begin(), differences.end());
    const cli::RankTest test = cli::rank_sum_test(first, second, 0.95);
    CHECK(test.low == differences[2]);
    CHECK(test.high == differences[22]);
    CHECK(test.estimate == differences[12]);
}

TEST_CASE("long lists: the approximations go on where the exact tests end") {
    Samples first, second, differences;
    for (int i = 0; i < 200; ++i) {
        first.push_back(std::sin(i * 1.7) + i % 7);
        second.push_back(std::cos(i * 2.3) + i % 5 + 1.1);
        differences.push_back(std::sin(i * 0.7) + 0.15);
    }
    const cli::RankTest exact = cli::signed_rank_test(differences, 0.99);
    differences.push_back(0.15);
    const cli::RankTest approximate = cli::signed_rank_test(differences, 0.99);
    CHECK(approximate.p_value == Approx(exact.p_value).epsilon(0.25));
    CHECK(approximate.low == Approx(exact.low).margin(0.01));
    const Samples few(first.begin(), first.begin() + 50), half(second.begin(), second.begin() + 50);
    Samples more = half;
    more.push_back(half[17] + 1e-6);
    const cli::RankTest small = cli::rank_sum_test(few, half, 0.95);
    const cli::RankTest large = cli::rank_sum_test(few, more, 0.95);
    CHECK(large.p_value == Approx(small.p_value).epsilon(0.15));
    CHECK(large.low == Approx(small.low).margin(0.1));
    CHECK(large.high == Approx(small.high).margin(0.1));
}

TEST_CASE("few against many are the same from either side, and counted where that is quick") {
    for (const auto& [n_few, n_many] : {std::pair(3, 50), {12, 60}, {1, 3000}}) {
        Samples few, many;
        for (int i = 0; i < n_few; ++i) few.push_back(std::sin(i) + 0.6);
        for (int i = 0; i < n_many; ++i) many.push_back(std::cos(i * 1.3));
        const cli::RankTest one = cli::rank_sum_test(few, many, 0.95),
                            other = cli::rank_sum_test(many, few, 0.95);
        CHECK(one.p_value == Approx(other.p_value));
        CHECK(one.p_value > 0);
        CHECK(one.estimate == Approx(-other.estimate));
        CHECK(one.low == Approx(-other.high));
    }
}

TEST_CASE("what can be reached at best") {
    CHECK(cli::least_signed_rank_p(8) == 2.0 / 256);
    CHECK(cli::least_rank_sum_p(5, 5) == Approx(2.0 / 252));
    CHECK(cli::least_rank_sum_p(1, 1) == 1);
}

}  // namespace
