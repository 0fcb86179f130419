// Where each weight of a program lies in the CPU backend's one block of weights. The same for every ISA.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "program/program.h"

namespace takt::cpu {

// Every part begins at a multiple of this.
inline constexpr uint64_t kPartAlignment = 64;

// One weight, as the ops that read it want it: panels for matmul and embed, float32 for the others and for
// biases. A weight may be both.
struct WeightPlace {
    bool matrix = false, vector = false;
    uint64_t matrix_offset = 0, vector_offset = 0;  // from the block's start
};

struct WeightLayout {
    std::vector<WeightPlace> places;  // by WeightId::index
    uint64_t total_bytes = 0;
    uint64_t source_bytes = 0;  // what is read to fill it
};

// The error names a weight that can't be packed, or the one whose size overflows.
Result<WeightLayout> layout_weights(const Program& program);

}  // namespace takt::cpu
