// Passes over the logits of a whole vocabulary, in blocks, so that what follows looks at few of them.
#pragma once

#include <cstddef>
#include <span>

namespace takt {

constexpr size_t kLogitBlock = 256;

constexpr size_t n_logit_blocks(size_t vocab_size) {
    return (vocab_size + kLogitBlock - 1) / kLogitBlock;
}

// The highest logit of each block. False if one isn't finite; the maxima then mean nothing.
bool block_maxima(std::span<const float> logits, std::span<float> maxima);

// Weights e^((logit - highest) * inverse_temperature), summed over each block; none is above 1. Each within
// 3e-7 of its value and the same on every machine, in one order.
void block_weights(std::span<const float> logits, float highest, float inverse_temperature,
                   std::span<float> sums);

// The weights of up to kLogitBlock logits, as block_weights() sums them.
void weights_of_block(std::span<const float> logits, float highest, float inverse_temperature,
                      std::span<float> weights);

}  // namespace takt
