// What one step of a program reads and multiplies, counted from the program alone: the denominator of every
// share of a machine's limits.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "program/program.h"

namespace takt {

// Rows of one sequence, the last n_output_rows of which go through the head.
struct StepShape {
    uint32_t n_rows = 1, first_position = 0, n_output_rows = 1;
};

struct StepCost {
    uint64_t weight_bytes = 0;          // of matrices and vectors, once a step; of the embedding its rows
    uint64_t kv_values = 0;             // keys and values that attention reads, once a step and key head
    uint64_t recurrent_values = 0;      // of recurrent states: read, and written, once a step
    uint64_t product_operations = 0;    // 2 x weights multiplied
    uint64_t attention_operations = 0;  // 2 x products of queries with keys and of weights with values
};

// bytes_of: of a weight in the form that is read.
StepCost step_cost(const Program& program, const StepShape& shape, FunctionRef<uint64_t(WeightId)> bytes_of);

}  // namespace takt
