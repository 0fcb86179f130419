// One measured round of takt bench: requests of made-up tokens, submitted at once, timed by their own stamps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <takt/takt.hpp>

namespace cli {

struct BenchShape {
    uint32_t prompt_tokens = 0;  // -p: measured part of the prompt
    uint32_t decode_tokens = 0;  // -n
    uint32_t depth = 0;          // -d: tokens in front of it
    uint32_t sequences = 1;
};

struct BenchRound {
    std::optional<double> prefill_per_second, decode_per_second;
};

// Ids drawn evenly from the vocabulary; one at least.
std::vector<int32_t> made_up_ids(uint32_t count, uint32_t vocab_size, uint64_t seed);

// Positions one request may come to use.
uint32_t context_tokens(const BenchShape& shape, uint32_t chunk_tokens);

// Whose thread the engine works on: with EngineOptions::step_driven the caller's.
enum class Drives { engine, caller };

// round: makes the tokens of every round differ, so that nothing is found in a prefix cache.
BenchRound measure_round(takt::Engine& engine, const BenchShape& shape, uint32_t vocab_size,
                         uint32_t chunk_tokens, uint32_t round, Drives drives);

}  // namespace cli
