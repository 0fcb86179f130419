// Smooth goodput against the worked example, and what it must not reward.
#include <catch2/catch.hpp>

#include <cmath>

#include "metric_vectors.h"
#include "numbers/smooth_goodput.h"

namespace {

using cli::smooth_benefit;
using cli::smooth_goodput;
using cli::SmoothRule;
using cli::TokenTimes;

TEST_CASE("the worked example") {
    const nlohmann::json vectors = metric_vectors("goodput"), parameters = vectors.at("params");
    SmoothRule rule;
    rule.seconds_per_token = parameters.at("V_seconds_per_token").get<double>();
    rule.tokens_per_second = parameters.at("alpha_tokens_per_second").get<double>();
    std::vector<TokenTimes> requests;
    for (const nlohmann::json& row : vectors.at("requests")) {
        const TokenTimes request{row.at("t").get<std::vector<double>>(), 0};
        CHECK(cli::idle_latency(request, rule) == Approx(row.at("l_r").get<double>()));
        CHECK(smooth_benefit(request, rule) == Approx(row.at("benefit").get<double>()));
        requests.push_back(request);
    }
    CHECK(smooth_goodput(requests, parameters.at("T").get<double>(), rule) ==
          Approx(vectors.at("expect").at("smooth_goodput").get<double>()));
    CHECK(std::isnan(smooth_goodput(requests, 0, rule)));
}

TEST_CASE("deadlines from the first token on do not count the wait for it") {
    SmoothRule rule;
    rule.origin = cli::DeadlineOrigin::first_token;
    CHECK(cli::idle_latency({{5, 5.2, 5.5}, 0}, rule) == Approx(0.1));
    CHECK(cli::idle_latency({{5}, 0}, rule) == 0);
}

TEST_CASE("without a token the wait counts from when the first was due") {
    CHECK(smooth_benefit({{}, 1.2}, {}) == Approx(-2.5));
    CHECK(smooth_benefit({{}, 0.1}, {}) == 0);
    SmoothRule floored;
    floored.floor_zero = true;
    CHECK(smooth_benefit({{}, 1.2}, floored) == 0);
}

TEST_CASE("holding tokens back or dropping a late request does not raise the score") {
    const TokenTimes early{{0.1, 0.2, 0.3}, 0}, held{{0.3, 0.3, 0.3}, 0}, late{{4, 4.1}, 0}, dropped{{}, 4};
    CHECK(smooth_benefit(held, {}) <= smooth_benefit(early, {}));
    CHECK(smooth_goodput({early, dropped}, 5, {}) <= smooth_goodput({early, late}, 5, {}));
}

}  // namespace
