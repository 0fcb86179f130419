// Logits of one row to one token: bias, penalties, then greedy or top-k, top-p, min-p, temperature and a counted draw.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"

namespace takt {

struct SamplerOptions {
    float temperature = 0;         // 0: greedy, lowest id on a tie
    uint32_t top_k = 0;            // 0: off
    float top_p = 1, min_p = 0;    // off
    float repetition_penalty = 1, frequency_penalty = 0, presence_penalty = 0;
    uint32_t penalty_tokens = 64;  // how far back penalties look, prompt included
    std::vector<std::pair<int32_t, float>> logit_bias;
    uint64_t seed = 0;

    // Names the field and its value: NaN, negative temperature, top_p outside 0…1, ids outside the vocabulary, …
    Status check(uint32_t vocab_size) const;
    // True if the token is the highest logit and nothing changes the logits: the backend's argmax serves.
    bool is_plain_greedy() const;
};

// One per request; buffers are sized when made, so that sample() allocates nothing.
class SamplerChain {
public:
    SamplerChain(SamplerOptions options, uint32_t vocab_size);
    // history: every token before this position, prompt included. position: of the token that is drawn, the counter of
    // its random number. Errors: logits_not_finite, no_token_allowed.
    Result<int32_t> sample(std::span<const float> logits, std::span<const int32_t> history, uint64_t position);

private:
    struct Candidate { float logit; int32_t id; };
    SamplerOptions options_;
    std::vector<float> logits_;          // changed copy
    std::vector<Candidate> candidates_;
    std::vector<uint32_t> counts_;       // per token in the penalty window
};

}  // namespace takt
