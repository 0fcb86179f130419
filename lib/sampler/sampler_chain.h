// Logits to one token: bias, penalties, then greedy or top-k, top-p, min-p, temperature and a counted draw.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"

namespace takt {

struct SamplerOptions {
    float temperature = 0;       // 0 (and all below 1e-6): greedy, lowest id on a tie
    uint32_t top_k = 0;          // 0: off
    float top_p = 1, min_p = 0;  // off
    // A logit > 0 is divided by the repetition penalty, another multiplied; the frequency penalty is
    // subtracted once for each occurrence, the presence penalty once.
    float repetition_penalty = 1, frequency_penalty = 0, presence_penalty = 0;
    uint32_t penalty_tokens = 64;  // how far back penalties look, prompt included; more than there are: all
    std::vector<std::pair<int32_t, float>> logit_bias;  // of equal ids the values add up; -infinity forbids
    uint64_t seed = 0;

    // Names the field and its value: NaN, negative temperature, top_p outside 0…1, ids outside the
    // vocabulary, …
    Status check(uint32_t vocab_size) const;
    bool is_greedy() const;
    bool has_penalties() const;
    // True if the token is the highest logit and nothing changes the logits: the backend's argmax serves.
    bool is_plain_greedy() const;
};

struct Candidate {
    float logit;
    int32_t id;
};

// Buffers that requests take turns with, sized when made, so that sampling allocates nothing.
class SamplerScratch {
public:
    explicit SamplerScratch(uint32_t vocab_size);
    size_t vocab_size() const { return logits.size(); }

private:
    friend class SamplerChain;
    std::vector<float> logits;        // changed copy
    std::vector<float> maxima, sums;  // by block of logits
    std::vector<Candidate> candidates;
    std::vector<double> weights;   // of the candidates
    std::vector<uint32_t> counts;  // per token, in the penalty window; zero between calls
};

// One per request.
class SamplerChain {
public:
    SamplerChain(SamplerOptions options, uint32_t vocab_size);
    // history: every token before this position, prompt included. position: of the token that is drawn, the
    // counter of its random number. Errors: logits_not_finite, no_token_allowed.
    Result<int32_t> sample(std::span<const float> logits, std::span<const int32_t> history, uint64_t position,
                           SamplerScratch& scratch) const;
    // What sample() draws from: a number for each token of the vocabulary, which add up to 1 but for
    // rounding.
    Status probabilities(std::span<const float> logits, std::span<const int32_t> history,
                         SamplerScratch& scratch, std::span<float> out) const;
    const SamplerOptions& options() const { return options_; }

private:
    Result<float> prepare(std::span<const float>& logits, std::span<const int32_t> history,
                          SamplerScratch& scratch) const;
    int32_t first_with(std::span<const float> logits, float highest, const SamplerScratch& scratch) const;
    bool narrow(std::span<const float> logits, float highest, SamplerScratch& scratch) const;
    Status change_logits(std::span<const float> logits, std::span<const int32_t> history,
                         SamplerScratch& scratch) const;
    void penalize(std::span<const int32_t> history, SamplerScratch& scratch) const;
    int32_t draw(std::span<const float> logits, float highest, uint64_t position,
                 SamplerScratch& scratch) const;
    int32_t draw_from_all(std::span<const float> logits, float highest, double random,
                          SamplerScratch& scratch) const;

    SamplerOptions options_;
    uint32_t vocab_size_;
};

}  // namespace takt
