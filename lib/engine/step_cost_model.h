// What a step takes, from measured steps: the cost model of a simulation.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace takt {

struct StepCostPoint {
    uint32_t n_rows = 0;
    double step_ns = 0;
};

// Tables by rows, ascending. A step has a cost for the rows that it computes and one for the rows that give a
// token, which go through the head too:
//   decode(k)   k rows that give a token each
//   prefill(n)  n rows of which one gives a token; the step of one row is decode(1) unless it is in the table
// so n rows of which k give a token take decode(k) + prefill(n) - prefill(k), and prefill(n) without any.
struct MeasuredStepCosts {
    std::vector<StepCostPoint> decode, prefill;
    // On top of the tables, for each position before a row: of rows that give a token, and of the others.
    double decode_position_ns = 0, prefill_position_ns = 0;
};

struct StepLoad {
    uint32_t n_rows = 0, n_output_rows = 0;  // of the rows, those that give a token
    // Positions before each row, summed over the rows that give a token and over the others.
    uint64_t decode_positions = 0, prefill_positions = 0;
};

class StepCostModel {
public:
    // invalid_argument that names table, index and value.
    static Result<StepCostModel> create(MeasuredStepCosts costs);
    double step_ns(const StepLoad& step) const;  // at least 1

private:
    explicit StepCostModel(MeasuredStepCosts costs) : costs_(std::move(costs)) {}
    double decode_ns(uint32_t n_rows) const;
    double prefill_ns(uint32_t n_rows) const;

    MeasuredStepCosts costs_;
};

}  // namespace takt
