// What one step of a program reads and multiplies, counted from the program alone: the denominator of every
// share of a machine's limits.
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "program/program.h"

namespace takt {

// Rows of one sequence, the last n_output_rows of which go through the head.
struct StepShape {
    uint32_t n_rows = 1, first_position = 0, n_output_rows = 1;
};

struct StepCost {
    uint64_t weight_bytes = 0;          // of matrices and vectors, once a step; of the embedding its rows
    uint64_t expert_bytes = 0;          // within weight_bytes: of experts, as many as the rows can choose
    uint64_t kv_values = 0;             // keys and values that attention reads, once a step and key head
    uint64_t recurrent_values = 0;      // of recurrent states: read, and written, once a step
    uint64_t product_operations = 0;    // 2 x weights multiplied
    uint64_t attention_operations = 0;  // 2 x products of queries with keys and of weights with values, and
                                        // what recurrent states take
};

// What steps of many sequences cost, from numbers that were worked out once: a few additions a sequence.
class StepCostTable {
public:
    // kv_row_bytes: of so many values of keys or values in the form that they are kept in.
    StepCostTable(const Program& program, FunctionRef<uint64_t(WeightId)> bytes_of,
                  FunctionRef<uint64_t(uint64_t n_values)> kv_row_bytes);

    struct Cost {
        uint64_t read_bytes = 0, product_operations = 0, attention_operations = 0;
        uint64_t expert_bytes = 0;  // within read_bytes
    };
    // The weights, for any rows of a step and for any rows with outputs.
    void add_weights(bool outputs, Cost& cost) const;
    // Rows of one sequence and what they see.
    void add_rows(const StepShape& rows, Cost& cost) const;

private:
    struct Group {
        uint32_t window = 0;
        uint64_t bytes_per_position = 0, operations_per_pair = 0;
    };
    uint64_t body_bytes_ = 0, head_bytes_ = 0, row_bytes_ = 0, recurrent_bytes_ = 0;
    uint64_t expert_row_bytes_ = 0, expert_bytes_ = 0;  // of one row, of all experts
    uint64_t row_operations_ = 0, output_operations_ = 0, recurrent_operations_ = 0;
    std::vector<Group> groups_;
};

// bytes_of: of a weight in the form that is read.
StepCost step_cost(const Program& program, const StepShape& shape, FunctionRef<uint64_t(WeightId)> bytes_of);

}  // namespace takt
