// The requests of a scenario: how long their prompts and answers are, and made-up or given prompts.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <takt/takt.hpp>

#include "numbers/traffic.h"

namespace cli {

class Workload {
public:
    // lengths: "P/N", "P1-P2/N1-N2", "LOW-HIGH", or a file of JSON lines with "output_tokens" and either
    // "prompt_tokens" or "prompt", a text. Failure or WrongUsage if it is none of these.
    Workload(const std::string& lengths, const takt::Model& model, uint64_t seed);

    // Prompt and answer of the next request. A file is taken in order, and from its start again.
    takt::RequestOptions next();
    // Positions of the longest one.
    uint32_t context_tokens() const { return context_tokens_; }

private:
    struct Entry {
        Lengths lengths;
        std::vector<int32_t> prompt_ids;  // empty: made up
    };
    void read_file_of_lengths(const std::string& path, const takt::Model& model);

    LengthMix mix_;
    std::vector<Entry> entries_;  // of a file
    std::mt19937_64 random_;
    uint64_t seed_, n_made_ = 0;
    uint32_t vocab_size_, context_tokens_ = 0;
};

}  // namespace cli
