// What each stage of the chain does to logits, and what it refuses.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "sampler/sampler_chain.h"

namespace takt {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Result<int32_t> sample(const SamplerOptions& options, const std::vector<float>& logits,
                       const std::vector<int32_t>& history = {}, uint64_t position = 0) {
    const auto vocab_size = static_cast<uint32_t>(logits.size());
    REQUIRE(options.check(vocab_size).ok());
    SamplerScratch scratch(vocab_size);
    const SamplerChain chain(options, vocab_size);
    const auto first = chain.sample(logits, history, position, scratch);
    const auto again = chain.sample(logits, history, position, scratch);  // the scratch keeps nothing
    REQUIRE(first.ok() == again.ok());
    if (first.ok()) REQUIRE(*first == *again);
    return first;
}

int32_t token(const SamplerOptions& options, const std::vector<float>& logits,
              const std::vector<int32_t>& history = {}, uint64_t position = 0) {
    const auto result = sample(options, logits, history, position);
    INFO(result.status().message());
    REQUIRE(result.ok());
    return *result;
}

// How often each token is drawn at positions 0 … n - 1.
std::map<int32_t, int> draws(SamplerOptions options, const std::vector<float>& logits, int n = 4000) {
    std::map<int32_t, int> counts;
    SamplerScratch scratch(static_cast<uint32_t>(logits.size()));
    const SamplerChain chain(options, static_cast<uint32_t>(logits.size()));
    for (int i = 0; i < n; ++i) ++counts[*chain.sample(logits, {}, static_cast<uint64_t>(i), scratch)];
    return counts;
}

SamplerOptions warm(float temperature = 1) {
    SamplerOptions options;
    options.temperature = temperature;
    return options;
}

void check_refused(const SamplerOptions& options, const std::string& field) {
    const Status status = options.check(10);
    INFO(field << ": " << status.message());
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().find(field) != std::string::npos);
}

}  // namespace

TEST_CASE("greedy takes the highest logit, the lowest id on a tie") {
    CHECK(token({}, {1, 3, 2}) == 1);
    CHECK(token({}, {5, 5, 5}) == 0);
    CHECK(token({}, {-1, 7, 7}) == 1);
    SamplerOptions top_one = warm();
    top_one.top_k = 1;
    CHECK(token(top_one, {-1, 7, 7}) == 1);
    CHECK(token(warm(1e-30f), {1, 3, 2}) == 1);
    CHECK(SamplerOptions{}.is_plain_greedy());
    CHECK(top_one.is_plain_greedy());
    CHECK_FALSE(warm().is_plain_greedy());
}

TEST_CASE("a logit that isn't finite ends the sampling") {
    for (const float bad : {kNan, kInf, -kInf}) {
        for (const SamplerOptions& options : {SamplerOptions{}, warm()}) {
            const auto result = sample(options, {1, bad, 2});
            CHECK(result.status().code() == StatusCode::logits_not_finite);
            CHECK(result.status().message().find("token 1") != std::string::npos);
        }
    }
}

TEST_CASE("a bias is added, -inf forbids, and nothing allowed is an error") {
    SamplerOptions options;
    options.logit_bias = {{0, 1.5f}, {0, 1.0f}};
    CHECK_FALSE(options.is_plain_greedy());
    CHECK(token(options, {1, 3, 2}) == 0);  // 1 + 2.5
    options.logit_bias = {{1, -kInf}, {1, 100}};
    CHECK(token(options, {1, 3, 2}) == 2);
    options.logit_bias = {{0, -kInf}, {1, -kInf}, {2, -kInf}};
    CHECK(sample(options, {1, 3, 2}).status().code() == StatusCode::no_token_allowed);
    options.temperature = 1;
    CHECK(sample(options, {1, 3, 2}).status().code() == StatusCode::no_token_allowed);
    options.logit_bias = {{0, 3e38f}, {0, 3e38f}};
    CHECK(token(options, {3e38f, 3, 2}) == 0);
    options.logit_bias.assign(100000, {2, 0.001f});
    options.temperature = 0;
    CHECK(token(options, {1, 3, 2}) == 2);
}

TEST_CASE("penalties act once a token, within their window") {
    SamplerOptions options;
    options.repetition_penalty = 2;
    CHECK(token(options, {4, 3, -1}, {0, 0, 0}) == 1);  // 4 / 2
    CHECK(token(options, {-1, -1.5f}, {0}) == 1);       // -1 * 2
    options.penalty_tokens = 2;
    CHECK(token(options, {4, 3, -1}, {0, 2, 2}) == 0);  // fell out of the window
    options.penalty_tokens = 0;
    CHECK(token(options, {4, 3, -1}, {0, 0}) == 0);
    CHECK(options.is_plain_greedy());

    options = {};
    options.frequency_penalty = 0.4f;
    CHECK(token(options, {4, 3, -1}, {0, 0}) == 0);     // 4 - 0.8
    CHECK(token(options, {4, 3, -1}, {0, 0, 0}) == 1);  // 4 - 1.2
    options = {};
    options.presence_penalty = 1.5f;
    CHECK(token(options, {4, 3, -1}, {0}) == 1);           // 4 - 1.5
    CHECK(token(options, {4, 1, -1}, {0, 0, 0, 0}) == 0);  // still 4 - 1.5
    options.presence_penalty = -1.5f;
    CHECK(token(options, {4, 3, -1}, {1}) == 1);
    options.presence_penalty = 1.5f;
    options.logit_bias = {{0, -kInf}};
    CHECK(token(options, {4, 3, -1}, {0}) == 1);  // forbidden stays forbidden
}

TEST_CASE("temperature spreads the draws as softmax says") {
    const std::vector<float> logits = {0, 1, 2};
    const auto counts = draws(warm(0.5f), logits);
    const double all = 1 + std::exp(2.0) + std::exp(4.0);
    CHECK(counts.at(0) / 4000.0 == Approx(1 / all).margin(0.015));
    CHECK(counts.at(1) / 4000.0 == Approx(std::exp(2.0) / all).margin(0.025));
    CHECK(counts.at(2) / 4000.0 == Approx(std::exp(4.0) / all).margin(0.025));
    const auto flat = draws(warm(1e30f), logits);
    for (int id = 0; id < 3; ++id) CHECK(flat.at(id) / 4000.0 == Approx(1 / 3.0).margin(0.03));
    CHECK(draws(warm(1e-30f), logits).size() == 1);
    CHECK(draws(warm(1e-5f), logits).size() == 1);
}

TEST_CASE("top-k, top-p and min-p keep the tokens they should, and at least one") {
    const std::vector<float> logits = {std::log(0.1f), std::log(0.4f), std::log(0.3f), std::log(0.2f)};
    const auto kept = [&](auto change) {
        SamplerOptions options = warm();
        change(options);
        std::vector<int32_t> ids;
        for (const auto& [id, count] : draws(options, logits)) ids.push_back(id);
        return ids;
    };
    using Ids = std::vector<int32_t>;
    CHECK(kept([](auto& o) { o.top_k = 2; }) == Ids{1, 2});
    CHECK(kept([](auto& o) { o.top_k = 100; }) == Ids{0, 1, 2, 3});
    CHECK(kept([](auto& o) { o.top_p = 0.65f; }) == Ids{1, 2});
    CHECK(kept([](auto& o) { o.top_p = 0.75f; }) == Ids{1, 2, 3});
    CHECK(kept([](auto& o) { o.top_p = 0; }) == Ids{1});
    CHECK(kept([](auto& o) { o.min_p = 0.6f; }) == Ids{1, 2});
    CHECK(kept([](auto& o) { o.min_p = 1; }) == Ids{1});
    CHECK(kept([](auto& o) {
              o.top_k = 3;
              o.top_p = 0.5f;
          }) == Ids{1, 2});  // of 0.9
    CHECK(kept([](auto& o) {
              o.top_k = 3;
              o.top_p = 0.4f;
          }) == Ids{1});
    CHECK(kept([](auto& o) {
              o.top_p = 0.95f;
              o.min_p = 0.6f;
              o.temperature = 100;
          }) == Ids{1, 2});
}

TEST_CASE("in a large vocabulary the nucleus is the one a full sort gives") {
    std::mt19937 random(3);
    std::normal_distribution<float> noise(0, 1);
    std::vector<float> logits(50000);
    for (float& x : logits) x = noise(random);
    std::vector<Candidate> sorted;
    for (size_t i = 0; i < logits.size(); ++i) sorted.push_back({logits[i], static_cast<int32_t>(i)});
    std::sort(sorted.begin(), sorted.end(),
              [](auto a, auto b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; });
    double all = 0, sum = 0;
    for (const auto& c : sorted) all += std::exp(double{c.logit});
    std::map<int32_t, size_t> rank;
    size_t n_nucleus = 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
        rank[sorted[i].id] = i;
        if (sum < double{0.3f} * all) n_nucleus = i + 1;
        sum += std::exp(double{sorted[i].logit});
    }
    SamplerOptions options = warm();
    options.top_p = 0.3f;
    size_t widest = 0;
    for (const auto& [id, count] : draws(options, logits, 300)) widest = std::max(widest, rank[id]);
    CHECK(widest < n_nucleus);
    CHECK(widest > n_nucleus / 2);
    options.top_p = 1;
    options.top_k = 5;
    for (const auto& [id, count] : draws(options, logits, 300)) CHECK(rank[id] < 5);
}

TEST_CASE("every seed gives its own tokens, the same ones each time") {
    const std::vector<float> logits(1000, 0.0f);
    std::map<uint64_t, std::vector<int32_t>> of_seed;
    for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0xFFFFFFFF}, ~uint64_t{0}}) {
        SamplerOptions options = warm();
        options.seed = seed;
        for (uint64_t position = 0; position < 8; ++position)
            of_seed[seed].push_back(token(options, logits, {}, position));
    }
    for (const auto& [a, ids_a] : of_seed)
        for (const auto& [b, ids_b] : of_seed) CHECK((ids_a == ids_b) == (a == b));
    // A frozen value: it must be this on every machine.
    SamplerOptions options = warm(0.7f);
    options.seed = 42;
    std::vector<float> slope(1000);
    for (size_t i = 0; i < slope.size(); ++i) slope[i] = static_cast<float>(i % 37) * 0.25f;
    std::vector<int32_t> ids;
    for (uint64_t position = 0; position < 6; ++position) ids.push_back(token(options, slope, {}, position));
    CHECK(ids == std::vector<int32_t>{479, 332, 665, 696, 849, 295});
}

TEST_CASE("options out of range are refused by name and value") {
    const auto with = [](auto change) {
        SamplerOptions options;
        change(options);
        return options;
    };
    for (const float bad : {-1.0f, kNan, kInf, -kInf}) {
        check_refused(with([&](auto& o) { o.temperature = bad; }), "temperature");
        check_refused(with([&](auto& o) { o.top_p = bad; }), "top_p");
        check_refused(with([&](auto& o) { o.min_p = bad; }), "min_p");
        check_refused(with([&](auto& o) { o.repetition_penalty = bad; }), "repetition_penalty");
        if (bad == -1.0f) continue;
        check_refused(with([&](auto& o) { o.frequency_penalty = bad; }), "frequency_penalty");
        check_refused(with([&](auto& o) { o.presence_penalty = bad; }), "presence_penalty");
    }
    check_refused(with([](auto& o) { o.top_p = 1.1f; }), "top_p is 1.1");
    check_refused(with([](auto& o) { o.min_p = 1.5f; }), "min_p");
    check_refused(with([](auto& o) { o.repetition_penalty = 0; }), "repetition_penalty");
    check_refused(with([](auto& o) { o.logit_bias = {{1, 0.0f}, {10, 1.0f}}; }),
                  "logit_bias[1] is for token 10");
    check_refused(with([](auto& o) { o.logit_bias = {{-1, 1.0f}}; }), "logit_bias[0]");
    check_refused(with([](auto& o) { o.logit_bias = {{1, kInf}}; }), "inf");
    check_refused(with([](auto& o) { o.logit_bias = {{1, kNan}}; }), "nan");
    CHECK(with([](auto& o) { o.logit_bias = {{1, -kInf}}; }).check(10).ok());
    CHECK(with([](auto& o) { o.temperature = 1e30f; }).check(10).ok());
}

}  // namespace takt
