// Buckets by their own arithmetic, percentiles against sorted samples, sums against the whole.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "timing/histogram.h"

namespace takt {
namespace {

// Distributions that break averages: a heavy tail, two far clusters, mostly equal with rare stalls, all
// scales.
std::vector<std::pair<const char*, std::function<uint64_t(std::mt19937_64&)>>> hostile() {
    return {
        {"Pareto with a tail without a mean",
         [](std::mt19937_64& random) {
             const double u = std::uniform_real_distribution<>(1e-9, 1)(random);
             return static_cast<uint64_t>(std::min(1e5 / u, 4e12));
         }},
        {"two clusters, microseconds and seconds",
         [](std::mt19937_64& random) {
             const bool slow = random() % 100 < 7;
             return (slow ? 2'000'000'000 : 3'000) + random() % 997;
         }},
        {"one value with rare stalls",
         [](std::mt19937_64& random) { return random() % 250 == 0 ? 1'100'000'000ull : 5'000'000ull; }},
        {"log-uniform from a nanosecond to an hour",
         [](std::mt19937_64& random) {
             const double exponent = std::uniform_real_distribution<>(0, std::log(3.6e12))(random);
             return static_cast<uint64_t>(std::exp(exponent));
         }},
    };
}

void check_equal(const Histogram& a, const Histogram& b) {
    CHECK(a.count() == b.count());
    CHECK(a.sum() == b.sum());
    CHECK(a.lowest() == b.lowest());
    CHECK(a.highest() == b.highest());
    bool same = true;
    for (uint32_t i = 0; i < Histogram::kBuckets; ++i) same = same && a.count_of(i) == b.count_of(i);
    CHECK(same);
}

}  // namespace

TEST_CASE("buckets join without a gap, and none is wider than 1/128 of its values") {
    for (uint32_t b = 0; b + 1 < Histogram::kBuckets; ++b) {
        const uint64_t low = Histogram::lowest_of(b), high = Histogram::highest_of(b);
        REQUIRE(high + 1 == Histogram::lowest_of(b + 1));
        REQUIRE(Histogram::bucket_of(low) == b);
        REQUIRE(Histogram::bucket_of(high) == b);
        REQUIRE((high - low) * 128 <= low);
    }
    CHECK(Histogram::highest_of(Histogram::kBuckets - 1) == Histogram::kHighest);
    CHECK(Histogram::bucket_of(UINT64_MAX) == Histogram::kBuckets - 1);
}

TEST_CASE("percentiles lie within 1 % of the nearest rank on hostile distributions") {
    for (const auto& [name, draw] : hostile()) {
        for (const size_t n : {1, 2, 9, 100, 1001, 50000}) {
            std::mt19937_64 random(n);
            Histogram histogram;
            std::vector<double> samples;
            for (size_t i = 0; i < n; ++i) {
                const uint64_t value = draw(random);
                histogram.record(value);
                samples.push_back(static_cast<double>(value));
            }
            std::ranges::sort(samples);
            for (const double p : {0.0, 0.001, 0.1, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0}) {
                INFO(name << ", " << n << " samples, p " << p);
                const double wanted = percentile(samples, p), found = histogram.percentile(p);
                CHECK(std::abs(found - wanted) <= 0.005 * wanted);
                const double loadgen = percentile(samples, p, PercentileRule::loadgen);
                CHECK(std::abs(histogram.percentile(p, PercentileRule::loadgen) - loadgen) <=
                      0.005 * loadgen);
                const double linear = percentile(samples, p, PercentileRule::linear);
                CHECK(std::abs(histogram.percentile(p, PercentileRule::linear) - linear) <= 0.005 * linear);
            }
            CHECK(histogram.lowest() == static_cast<uint64_t>(samples.front()));
            CHECK(histogram.highest() == static_cast<uint64_t>(samples.back()));
        }
    }
}

TEST_CASE("eight histograms merged are the one of all samples") {
    for (const auto& [name, draw] : hostile()) {
        INFO(name);
        std::mt19937_64 random(8);
        Histogram whole, merged;
        std::vector<Histogram> parts(8);
        for (int i = 0; i < 20000; ++i) {
            const uint64_t value = draw(random);
            whole.record(value);
            parts[random() % 8].record(value);
        }
        for (const Histogram& part : parts) merged.add(part);
        check_equal(merged, whole);
    }
}

TEST_CASE("what came since is the difference, and only an earlier state can be taken away") {
    std::mt19937_64 random(5);
    Histogram now, earlier, later_alone;
    for (int i = 0; i < 5000; ++i) now.record(random() % 1'000'000);
    earlier.assign(now);
    for (int i = 0; i < 5000; ++i) {
        const uint64_t value = 500'000 + random() % 1'000'000;
        now.record(value);
        later_alone.record(value);
    }
    Histogram since;
    since.assign(now);
    REQUIRE(since.subtract(earlier));
    CHECK(since.count() == later_alone.count());
    CHECK(since.sum() == later_alone.sum());
    CHECK(since.percentile(0.99) == Approx(later_alone.percentile(0.99)).epsilon(0.005));
    CHECK(since.lowest() <= later_alone.lowest());
    CHECK(static_cast<double>(since.lowest()) >= 0.99 * static_cast<double>(later_alone.lowest()));
    CHECK(since.highest() >= later_alone.highest());
    CHECK_FALSE(earlier.subtract(now));
    CHECK(earlier.count() == 5000);
    Histogram same;
    same.assign(now);
    REQUIRE(same.subtract(now));
    check_equal(same, Histogram());
}

TEST_CASE("a gap that is divided among tokens keeps its sum, and a histogram without samples says so") {
    Histogram histogram;
    CHECK(std::isnan(histogram.percentile(0.5)));
    CHECK(std::isnan(histogram.mean()));
    histogram.record(3, 3, 10);  // 10 ns among three tokens
    CHECK(histogram.count() == 3);
    CHECK(histogram.sum() == 10);
    histogram.record(7, 0, 7);
    CHECK(histogram.count() == 3);
}

TEST_CASE("values below 256 are exact, and those beyond an hour keep the highest") {
    Histogram small;
    for (uint64_t v = 0; v < 256; ++v) small.record(v);
    for (uint64_t v = 1; v <= 256; ++v)
        CHECK(small.percentile(static_cast<double>(v) / 256) == static_cast<double>(v - 1));
    Histogram large;
    large.record(uint64_t{1} << 50);
    CHECK(large.percentile(0.5) == std::ldexp(1.0, 50));
    CHECK(large.count_up_to(UINT64_MAX) == 1);
    CHECK(large.count_up_to((uint64_t{1} << 50) - 1) == 0);
    CHECK(large.count_up_to(uint64_t{7680} * 1'000'000'000) == 0);
}

}  // namespace takt
