// Probabilities after the chain against draws from it, and speculative sampling by the classic rule against
// the model's own distribution.
#include "sampler/rejection.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "sampler/sampler_chain.h"

namespace takt {
namespace {

constexpr int kDraws = 40'000;

std::vector<float> random_logits(unsigned seed, size_t n, float spread) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> logits(n);
    for (float& logit : logits) logit = normal(random);
    return logits;
}

std::vector<float> probabilities(const SamplerOptions& options, const std::vector<float>& logits,
                                 const std::vector<int32_t>& history = {}) {
    SamplerScratch scratch(static_cast<uint32_t>(logits.size()));
    std::vector<float> out(logits.size(), -1);
    REQUIRE(SamplerChain(options, static_cast<uint32_t>(logits.size()))
                .probabilities(logits, history, scratch, out)
                .ok());
    return out;
}

// Pearson's statistic is a few times the number of tokens at most.
void check_distribution(const std::vector<int>& counts, const std::vector<float>& expected) {
    double chi = 0;
    int n_tokens = 0;
    for (size_t id = 0; id < counts.size(); ++id) {
        const double wanted = double{expected[id]} * kDraws;
        if (wanted < 5) {
            CHECK(counts[id] < 40);
            continue;
        }
        ++n_tokens;
        chi += (counts[id] - wanted) * (counts[id] - wanted) / wanted;
    }
    CHECK(chi < n_tokens + 5 * std::sqrt(2.0 * n_tokens) + 5);
}

std::vector<SamplerOptions> all_kinds() {
    std::vector<SamplerOptions> all(6);
    for (SamplerOptions& options : all) options.temperature = 0.8f;
    all[1].top_k = 7;
    all[2].top_p = 0.8f;
    all[3].min_p = 0.1f;
    all[4].top_k = 12;
    all[4].top_p = 0.9f;
    all[4].logit_bias = {{3, -INFINITY}, {5, 2.0f}};
    all[5].repetition_penalty = 1.4f;
    all[5].frequency_penalty = 0.3f;
    return all;
}

}  // namespace

TEST_CASE("probabilities are those that draws follow") {
    const std::vector<float> logits = random_logits(1, 300, 2);
    const std::vector<int32_t> history = {1, 2, 3, 2, 9};
    for (SamplerOptions options : all_kinds()) {
        const std::vector<float> p = probabilities(options, logits, history);
        CHECK(std::accumulate(p.begin(), p.end(), 0.0) == Approx(1).margin(1e-5));
        SamplerScratch scratch(300);
        const SamplerChain chain(options, 300);
        std::vector<int> counts(300);
        for (uint64_t i = 0; i < kDraws; ++i)
            ++counts[static_cast<size_t>(*chain.sample(logits, history, i, scratch))];
        check_distribution(counts, p);
    }
    const std::vector<float> greedy = probabilities({}, logits);
    CHECK(std::ranges::count(greedy, 1.0f) == 1);
    CHECK(std::accumulate(greedy.begin(), greedy.end(), 0.0f) == 1);
}

TEST_CASE("drafts that are kept or drawn again are distributed as the model says") {
    const size_t n = 60;
    const std::vector<float> logits = random_logits(3, n, 1.5f), draft_logits = random_logits(4, n, 1.5f);
    for (const SamplerOptions& options : all_kinds()) {
        const std::vector<float> p = probabilities(options, logits), q = probabilities(options, draft_logits);
        SamplerScratch scratch(static_cast<uint32_t>(n));
        const SamplerChain chain(options, static_cast<uint32_t>(n));
        std::vector<int> counts(n), counts_of_sure(n);
        int n_kept = 0;
        for (uint64_t i = 0; i < kDraws; ++i) {
            const int32_t draft = *chain.sample(draft_logits, {}, i, scratch);
            const int32_t id = keep_or_redraw(draft, p, q, options.seed, i);
            n_kept += id == draft;
            ++counts[static_cast<size_t>(id)];
            ++counts_of_sure[static_cast<size_t>(keep_or_redraw(5, p, {}, options.seed, i))];
        }
        check_distribution(counts, p);
        check_distribution(counts_of_sure, p);
        double overlap = 0;
        for (size_t id = 0; id < n; ++id) overlap += std::min(p[id], q[id]);
        CHECK(n_kept / double{kDraws} == Approx(overlap).margin(0.02));
    }
}

TEST_CASE("a draft of the same distribution is always kept") {
    const std::vector<float> p = probabilities(all_kinds()[0], random_logits(5, 100, 2));
    for (uint64_t i = 0; i < 1000; ++i) {
        const auto draft = static_cast<int32_t>(i % 100);
        if (p[static_cast<size_t>(draft)] > 0) CHECK(keep_or_redraw(draft, p, p, 7, i) == draft);
    }
}

}  // namespace takt
