// Geometric sums, and counts of a histogram.
#include "numbers/speculation.h"

#include <cmath>

namespace cli {

double tokens_per_verify_step(double alpha, double gamma) {
    if (alpha >= 1) return gamma + 1;
    return (1 - std::pow(alpha, gamma + 1)) / (1 - alpha);
}

double speculative_speedup(double alpha, double gamma, double c) {
    return tokens_per_verify_step(alpha, gamma) / (gamma * c + 1);
}

ObservedSpeculation observed_speculation(std::span<const uint64_t> histogram, uint64_t drafts_per_step) {
    ObservedSpeculation seen;
    for (std::size_t i = 0; i < histogram.size(); ++i) {
        seen.steps += histogram[i];
        seen.accepted += i * histogram[i];
    }
    seen.drafted = seen.steps * drafts_per_step;
    const auto steps = static_cast<double>(seen.steps), accepted = static_cast<double>(seen.accepted),
               drafted = static_cast<double>(seen.drafted);
    seen.mean_acceptance_length = 1 + accepted / steps;
    seen.draft_acceptance_rate = accepted / drafted;
    seen.kept_of_verified = (accepted + steps) / (drafted + steps);
    return seen;
}

}  // namespace cli
