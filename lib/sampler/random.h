// A counter-based random number: the same (seed, position) gives the same number on every machine.
#pragma once

#include <cstdint>

namespace takt {

// Uniform in [0, 1), 53 bits.
double random_unit(uint64_t seed, uint64_t position);

}  // namespace takt
