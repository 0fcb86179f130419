// Arrivals and lengths: what is drawn keeps to what was asked for.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "numbers/traffic.h"

namespace {

TEST_CASE("arrivals come at the rate, in order, as a Poisson process does") {
    const std::vector<double> times = cli::poisson_arrivals(20, 20'000, 0, 7);
    REQUIRE(times.size() == 20'000);
    CHECK(std::is_sorted(times.begin(), times.end()));
    CHECK(times.front() > 0);
    CHECK(times.back() == Approx(1000).epsilon(0.03));
    double squares = 0, before = 0;
    for (const double t : times) {
        squares += std::pow((t - before) * 20 - 1, 2);
        before = t;
    }
    CHECK(squares / 20'000 == Approx(1).epsilon(0.06));  // gaps deviate by as much as their mean
}

TEST_CASE("arrivals last for both the count and the time") {
    CHECK(cli::poisson_arrivals(10, 5, 0, 1).size() == 5);
    const std::vector<double> longer = cli::poisson_arrivals(10, 5, 30, 1);
    CHECK(longer.size() > 200);
    CHECK(longer.back() < 30);
    CHECK(cli::poisson_arrivals(10, 0, 0, 1).empty());
}

TEST_CASE("a seed gives its arrivals again, another one others") {
    CHECK(cli::poisson_arrivals(3, 50, 0, 5) == cli::poisson_arrivals(3, 50, 0, 5));
    CHECK(cli::poisson_arrivals(3, 50, 0, 5) != cli::poisson_arrivals(3, 50, 0, 6));
}

void check_mix(const std::string& text, const std::array<uint32_t, 4>& want) {
    INFO(text);
    const auto mix = cli::parse_length_mix(text);
    REQUIRE(mix);
    CHECK(std::array{mix->prompt.low, mix->prompt.high, mix->output.low, mix->output.high} == want);
}

TEST_CASE("length mixes as text") {
    check_mix("778/73", {778, 778, 73, 73});
    check_mix("50-800", {50, 800, 50, 800});
    check_mix("1-2/3-4", {1, 2, 3, 4});
    check_mix("100/5-9", {100, 100, 5, 9});
    for (const char* text : {"", "/", "5", "5/", "/5", "0/5", "5-4/3", "5/3x", "a.jsonl", "1-/2", "-1/2",
                             "99999999999/1", "1/2/3", "5-"})
        CHECK(!cli::parse_length_mix(text));
}

TEST_CASE("drawn lengths fill their ranges evenly") {
    std::mt19937_64 random(3);
    const cli::LengthMix mix{{10, 13}, {5, 5}};
    std::array<int, 4> counts{};
    for (int i = 0; i < 4000; ++i) {
        const cli::Lengths lengths = cli::draw(mix, random);
        REQUIRE((lengths.prompt_tokens >= 10 && lengths.prompt_tokens <= 13 && lengths.output_tokens == 5));
        ++counts[lengths.prompt_tokens - 10];
    }
    for (const int count : counts) CHECK(std::abs(count - 1000) < 130);
}

}  // namespace
