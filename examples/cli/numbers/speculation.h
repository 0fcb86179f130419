// Speculative decoding: what theory expects (Leviathan et al., arXiv:2211.17192) and what a run shows.
#pragma once

#include <cstdint>
#include <span>

namespace cli {

// alpha: probability that a draft is accepted; gamma: drafts a step. Equation 1.
double tokens_per_verify_step(double alpha, double gamma);
// c: a step of the draft model by one of the model. Theorem 3.8.
double speculative_speedup(double alpha, double gamma, double c);

struct ObservedSpeculation {
    uint64_t steps = 0, accepted = 0, drafted = 0;
    double mean_acceptance_length = 0;  // tokens a step, the model's own included; NaN without steps
    double draft_acceptance_rate = 0;   // accepted by drafted; NaN without drafts
    double kept_of_verified = 0;        // the same with the model's own token of each step; NaN without steps
};
// histogram[i]: steps of which i drafts were accepted, of drafts_per_step each.
ObservedSpeculation observed_speculation(std::span<const uint64_t> histogram, uint64_t drafts_per_step);

}  // namespace cli
