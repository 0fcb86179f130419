// Verdicts: false alarms and power in seeded simulations, too few repetitions, intervals.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "numbers/comparison.h"

namespace {

using cli::Pairing;
using cli::Verdict;

constexpr int kRuns = 1000;
constexpr std::size_t kRepetitions = 15;

// Rates around 100 with so much noise of their own, and noise that both sides share.
struct Noise {
    double own = 0.04, shared = 0;
};

struct Counts {
    int faster = 0, slower = 0, no_difference = 0, too_few = 0, covered = 0;
    int differences() const { return faster + slower; }
};

Counts simulate(double factor, Noise noise, Pairing pairing, double confidence) {
    std::mt19937_64 random(20261130);
    std::normal_distribution<double> normal;
    Counts counts;
    for (int run = 0; run < kRuns; ++run) {
        std::vector<double> first, second;
        for (std::size_t i = 0; i < kRepetitions; ++i) {
            const double both = 100 * std::exp(noise.shared * normal(random));
            first.push_back(both * std::exp(noise.own * normal(random)));
            second.push_back(both * factor * std::exp(noise.own * normal(random)));
        }
        const cli::Comparison result = cli::compare_rates(first, second, pairing, confidence);
        counts.faster += result.verdict == Verdict::faster;
        counts.slower += result.verdict == Verdict::slower;
        counts.no_difference += result.verdict == Verdict::no_difference;
        counts.too_few += result.verdict == Verdict::too_few;
        counts.covered += result.low <= factor && factor <= result.high;
        // The interval says what the test says.
        CHECK((result.low > 1 || result.high < 1) ==
              (result.verdict == Verdict::faster || result.verdict == Verdict::slower));
    }
    return counts;
}

// Four standard deviations of a count above its expectation.
double most(double share) {
    return kRuns * share + 4 * std::sqrt(kRuns * share * (1 - share));
}

TEST_CASE("false alarms stay within what the confidence allows") {
    for (const Pairing pairing : {Pairing::paired, Pairing::independent}) {
        for (const double confidence : {0.95, 0.99}) {
            const Counts counts = simulate(1, {}, pairing, confidence);
            CHECK(counts.too_few == 0);
            CHECK(counts.differences() <= most(1 - confidence));
            CHECK(counts.differences() >= kRuns * (1 - confidence) / 4);  // nor is it blind
            CHECK(kRuns - counts.covered <= most(1 - confidence));
        }
    }
}

TEST_CASE("a tenth less is found in noise of 4 % with 15 repetitions") {
    for (const Pairing pairing : {Pairing::paired, Pairing::independent}) {
        const Counts slower = simulate(0.9, {}, pairing, 0.99);
        CHECK(slower.slower >= 0.99 * kRuns);
        CHECK(slower.faster == 0);
        CHECK(slower.covered >= 0.97 * kRuns);
        CHECK(simulate(1.1, {}, pairing, 0.99).faster >= 0.99 * kRuns);
    }
}

TEST_CASE("noise that both sides share is no noise to pairs") {
    const Noise drifting{0.04, 0.3};
    CHECK(simulate(0.9, drifting, Pairing::paired, 0.99).slower >= 0.99 * kRuns);
    CHECK(simulate(0.9, drifting, Pairing::independent, 0.99).slower <= 0.2 * kRuns);
}

TEST_CASE("repetitions that can't reach the confidence are no verdict") {
    const std::vector<double> low = {1, 2, 3, 4}, high = {11, 12, 13, 14};
    const cli::Comparison small =
        cli::compare_rates({100, 101, 102, 103, 104, 105}, {101.1, 102.1, 103.1, 104.1, 105.1, 106.1},
                           Pairing::paired, 0.95, 0.02);
    CHECK(small.verdict == Verdict::no_difference);  // sure, and of 1 %
    CHECK(small.p_value < 0.05);
    const cli::Comparison four = cli::compare_rates(low, high, Pairing::independent, 0.99);
    CHECK(four.verdict == Verdict::too_few);
    CHECK((four.low == 0 && std::isinf(four.high)));
    CHECK(cli::compare_rates(low, high, Pairing::independent, 0.95).verdict == Verdict::faster);
    CHECK(cli::compare_rates({1}, {2}, Pairing::paired, 0.5).verdict == Verdict::too_few);
    CHECK(cli::least_repetitions(Pairing::independent, 0.99) == 5);
    CHECK(cli::least_repetitions(Pairing::paired, 0.99) == 8);
    CHECK(cli::least_repetitions(Pairing::paired, 0.95) == 6);
}

TEST_CASE("pairs too few for their own test are compared as lists") {
    const std::vector<double> low = {1, 2, 3, 4, 5}, high = {11, 12, 13, 14, 15};
    const cli::Comparison result = cli::compare_rates(high, low, Pairing::paired, 0.99);
    CHECK(result.pairing == Pairing::independent);
    CHECK(result.verdict == Verdict::slower);
}

TEST_CASE("lists of different lengths") {
    const std::vector<double> nine = {9, 8, 7, 9.5, 8.5, 7.5, 9.25, 8.25, 7.25}, three = {1, 2, 3};
    const cli::Comparison result = cli::compare_rates(nine, three, Pairing::paired, 0.99);
    CHECK(result.pairing == Pairing::independent);
    CHECK(result.verdict == Verdict::slower);  // 2 / 220
}

TEST_CASE("the ratio is that of the rates") {
    std::vector<double> first, twice;
    for (int i = 1; i <= 12; ++i) {
        first.push_back(100 + i);
        twice.push_back(2.0 * (100 + i));
    }
    for (const Pairing pairing : {Pairing::paired, Pairing::independent}) {
        const cli::Comparison result = cli::compare_rates(first, twice, pairing, 0.99);
        CHECK(result.verdict == Verdict::faster);
        CHECK(result.ratio == Approx(2));
        CHECK(result.low <= Approx(2));
        CHECK(result.high >= Approx(2));
    }
    CHECK(cli::compare_rates(first, first, Pairing::paired, 0.99).verdict == Verdict::no_difference);
}

}  // namespace
