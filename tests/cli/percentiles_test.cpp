// Percentile rules against worked-out values, and at their edges.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "metric_vectors.h"
#include "numbers/percentiles.h"

namespace {

using cli::percentile;
using cli::PercentileRule;

TEST_CASE("each rule gives the vectors' percentiles") {
    const nlohmann::json vectors = metric_vectors("percentiles");
    const auto samples = vectors.at("samples").get<std::vector<double>>();
    const std::pair<const char*, PercentileRule> rules[] = {
        {"nearest_rank (takt exact mode, HdrHistogram)", PercentileRule::nearest_rank},
        {"loadgen sorted[floor(n*p)]", PercentileRule::loadgen},
        {"numpy linear (vLLM bench, aiperf)", PercentileRule::linear}};
    for (const auto& [name, rule] : rules) {
        for (const auto& [key, want] : vectors.at("rules").at(name).items()) {
            INFO(name << " " << key);
            CHECK(percentile(samples, std::stod(key.substr(1)) / 100, rule) == Approx(want.get<double>()));
        }
    }
}

TEST_CASE("a nearest rank is not moved by rounding") {
    std::vector<double> samples(1000);
    std::iota(samples.begin(), samples.end(), 1.0);
    for (int i = 1; i < 1000; ++i) CHECK(percentile(samples, i / 1000.0, PercentileRule::nearest_rank) == i);
}

TEST_CASE("none, one and infinite samples") {
    const double infinity = std::numeric_limits<double>::infinity();
    for (const PercentileRule rule :
         {PercentileRule::nearest_rank, PercentileRule::loadgen, PercentileRule::linear}) {
        CHECK(std::isnan(percentile({}, 0.5, rule)));
        CHECK(percentile({7}, 0.01, rule) == 7);
        CHECK(percentile({7}, 0.99, rule) == 7);
        CHECK(percentile({1, 2, infinity, infinity}, 0.9, rule) == infinity);
        CHECK(percentile({1, 2, 3, infinity}, 0.3, rule) < 3);
        CHECK(cli::percentile_rule(cli::name_of(rule)) == rule);
    }
    CHECK(!cli::percentile_rule("median"));
}

}  // namespace
