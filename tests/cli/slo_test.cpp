// Objectives: who is good, a miss or out, and the bounds of a share.
#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "metric_vectors.h"
#include "numbers/slo.h"

namespace {

using cli::meets;
using cli::RequestEnd;
using cli::RequestTimes;

uint64_t ns(const nlohmann::json& bounds, const char* key) {
    return static_cast<uint64_t>(std::llround(bounds.value(key, 0.0) * 1e9));
}

TEST_CASE("a request at its bounds is good, a nanosecond over one is not") {
    const cli::Slo slo{100, 10, 30, 1000};
    const RequestTimes at{RequestEnd::completed, 100, 10, 30, 1000, 5};
    CHECK(meets(at, slo) == true);
    RequestTimes over = at;
    over.ttft_ns = 101;
    CHECK(meets(over, slo) == false);
    over = at, over.tpot_ns = 10.5;
    CHECK(meets(over, slo) == false);
    over = at, over.longest_itl_ns = 31;
    CHECK(meets(over, slo) == false);
    over = at, over.e2e_ns = 1001;
    CHECK(meets(over, slo) == false);
    CHECK(meets(over, cli::Slo{100, 10, 30, 0}) == true);
}

TEST_CASE("what is undefined passes: TPOT of one token, TTFT of none") {
    const cli::Slo slo{100, 10, 30, 1000};
    CHECK(meets({RequestEnd::completed, 90, {}, {}, 90, 1}, slo) == true);
    CHECK(meets({RequestEnd::completed, {}, {}, {}, 900, 0}, slo) == true);
    CHECK(meets({RequestEnd::completed, {}, {}, {}, 1001, 0}, slo) == false);
}

TEST_CASE("failed requests are misses, cancelled ones out unless they were over a bound") {
    const cli::Slo slo{100, 10, 0, 1000};
    CHECK(meets({RequestEnd::failed, 1, 1, 1, 1, 2}, slo) == false);
    CHECK(!meets({RequestEnd::cancelled, 90, {}, {}, 95, 1}, slo));
    CHECK(meets({RequestEnd::cancelled, 101, {}, {}, 105, 1}, slo) == false);
    CHECK(!meets({RequestEnd::cancelled, {}, {}, {}, 99, 0}, slo));
    CHECK(meets({RequestEnd::cancelled, {}, {}, {}, 101, 0}, slo) == false);
}

TEST_CASE("attainment of the vectors' requests") {
    const nlohmann::json vectors = metric_vectors("goodput"), style = vectors.at("vllm_style");
    const cli::Slo slo{ns(style.at("slo"), "ttft"), ns(style.at("slo"), "tpot"), 0, 0};
    std::vector<RequestTimes> requests;
    std::vector<std::string> good;
    for (const nlohmann::json& row : vectors.at("requests")) {
        const auto t = row.at("t").get<std::vector<double>>();
        RequestTimes times;
        times.ttft_ns = t.front() * 1e9;
        if (t.size() > 1) times.tpot_ns = (t.back() - t.front()) * 1e9 / static_cast<double>(t.size() - 1);
        times.e2e_ns = t.back() * 1e9;
        times.n_tokens = t.size();
        if (meets(times, slo) == true) good.push_back(row.at("id").get<std::string>());
        requests.push_back(times);
    }
    CHECK(good == style.at("expect_good").get<std::vector<std::string>>());
    const cli::Attainment result = cli::attainment(requests, slo);
    CHECK(result.share() == 2.0 / 3);
    CHECK(result.good_tokens == 4);
    CHECK(!cli::attainment({}, slo).share());
}

TEST_CASE("Wilson's bounds") {
    // Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    const std::array<std::array<double, 4>, 4> rows{
        {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}}};
    for (const auto& [hits, all, low, high] : rows) {
        const cli::Interval bounds = cli::wilson_95(static_cast<uint64_t>(hits), static_cast<uint64_t>(all));
        CHECK(bounds.low == Approx(low).margin(5e-5));
        CHECK(bounds.high == Approx(high).margin(5e-5));
    }
    CHECK(cli::wilson_95(10, 10).high == 1);
    CHECK((cli::wilson_95(0, 0).low == 0 && cli::wilson_95(0, 0).high == 1));
}

}  // namespace
