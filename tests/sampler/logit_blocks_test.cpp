#include "sampler/logit_blocks.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace takt;

namespace {

std::vector<float> random_logits(size_t n) {
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<float> normal(0, 6);
    std::vector<float> logits(n);
    for (float& logit : logits) logit = normal(random);
    return logits;
}

}  // namespace

TEST_CASE("the maxima of blocks are those of their logits, for any size") {
    for (size_t n = 1; n < 1100; n += n < 40 ? 1 : 37) {
        const std::vector<float> logits = random_logits(n);
        std::vector<float> maxima(n_logit_blocks(n));
        REQUIRE(block_maxima(logits, maxima));
        for (size_t block = 0; block < maxima.size(); ++block) {
            const auto first = logits.begin() + static_cast<std::ptrdiff_t>(block * kLogitBlock);
            const auto end =
                logits.begin() + static_cast<std::ptrdiff_t>(std::min(n, (block + 1) * kLogitBlock));
            REQUIRE(maxima[block] == *std::max_element(first, end));
        }
    }
}

TEST_CASE("a logit that isn't finite is seen wherever it stands") {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
        for (size_t at = 0; at < 600; at += at < 300 ? 1 : 13) {
            std::vector<float> logits = random_logits(600);
            logits[at] = bad;
            std::vector<float> maxima(n_logit_blocks(600));
            REQUIRE_FALSE(block_maxima(logits, maxima));
        }
    }
    std::vector<float> largest(600, std::numeric_limits<float>::max()), maxima(n_logit_blocks(600));
    largest[7] = std::numeric_limits<float>::lowest();
    REQUIRE(block_maxima(largest, maxima));
}

TEST_CASE("logits as far apart as floats can be have the weights that a high temperature gives them") {
    const float most = std::numeric_limits<float>::max();
    const std::vector<float> logits = {most, -most, 0, most / 2};
    std::vector<float> weights(4), sums(1);
    weights_of_block(logits, most, 1 / 2e38f, weights);
    block_weights(logits, most, 1 / 2e38f, sums);
    double sum = 0;
    for (size_t i = 0; i < 4; ++i) {
        const double expected = std::exp((double{logits[i]} - double{most}) / 2e38);
        CHECK(std::abs(double{weights[i]} - expected) < 1e-5 * expected);
        sum += expected;
    }
    CHECK(std::abs(double{sums[0]} - sum) < 1e-5 * sum);
}

TEST_CASE(
    "weights are exp within 3e-7, zero for forbidden tokens, and a block's sum is that of its weights") {
    for (const float inverse : {1.0f, 1.25f, 0.1f, 1e6f}) {
        for (const size_t n : {1u, 15u, 256u, 257u, 1000u}) {
            std::vector<float> logits = random_logits(n);
            if (n > 20) logits[n / 2] = -INFINITY;
            const float highest = *std::max_element(logits.begin(), logits.end());
            std::vector<float> sums(n_logit_blocks(n));
            block_weights(logits, highest, inverse, sums);
            for (size_t block = 0; block < sums.size(); ++block) {
                const size_t first = block * kLogitBlock, size = std::min(kLogitBlock, n - first);
                const std::span<const float> own = std::span<const float>(logits).subspan(first, size);
                std::vector<float> weights(size);
                weights_of_block(own, highest, inverse, weights);
                double sum = 0;
                for (size_t i = 0; i < size; ++i) {
                    const float scaled = (own[i] - highest) * inverse;
                    const double expected = scaled < -87 ? 0 : std::exp(double{scaled});
                    INFO(own[i] << " below " << highest << " times " << inverse);
                    REQUIRE(std::abs(double{weights[i]} - expected) <= 3e-7 * expected + 2e-38);
                    if (own[i] == -INFINITY) REQUIRE(weights[i] == 0);
                    sum += double{weights[i]};
                }
                REQUIRE(std::abs(double{sums[block]} - sum) <= 2e-6 * sum);
            }
        }
    }
}
