// Made-up traffic: when requests arrive, how long their prompts and answers are. The same for a seed on every
// machine.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cli {

// Seconds of a Poisson process from 0 on: at least n_least arrivals, and as many more as come before
// least_seconds.
std::vector<double> poisson_arrivals(double per_second, uint64_t n_least, double least_seconds,
                                     uint64_t seed);

struct Lengths {
    uint32_t prompt_tokens = 0, output_tokens = 0;
};

struct TokenRange {
    uint32_t low = 0, high = 0;
};

// Prompts and answers drawn evenly from ranges, independent of each other.
struct LengthMix {
    TokenRange prompt, output;
};

// "778/73", "P1-P2/N1-N2", "P/N1-N2", or "50-800" for both; nothing for any other text.
std::optional<LengthMix> parse_length_mix(const std::string& text);
Lengths draw(const LengthMix& mix, std::mt19937_64& random);

}  // namespace cli
