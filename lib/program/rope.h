// Frequencies of a RoPE op, for every backend.
#pragma once

#include <cstdint>

#include "program/op.h"

namespace takt {

// The weight whose entries divide the frequencies in a context of so many tokens; may be invalid.
WeightId rope_factors(const RopeOp& op, uint32_t context_tokens);
// Radians a position, of a pair in [0, rotated_dim / 2); factor: the entry of rope_factors, or 1.
double rope_frequency(const RopeOp& op, uint32_t pair, double factor);

}  // namespace takt
