// One visit an op. A weight that two ops multiply with (no family has one) would count twice, as it is read
// twice; a tied head is read as the head and by rows as the embedding.
#include "program/step_cost.h"

#include <algorithm>

namespace takt {
namespace {

// Positions that the rows of the step see, all together, and those that any of them sees.
struct Seen {
    uint64_t pairs = 0, positions = 0;
};

Seen seen(const StepShape& shape, uint32_t window) {
    Seen all;
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < shape.n_rows; ++i) {
        const uint64_t end = uint64_t{shape.first_position} + i + 1;
        const uint64_t from = window != 0 && end > window ? end - window : 0;
        first = std::min(first, from);
        all.pairs += end - from;
        all.positions = end - first;
    }
    return all;
}

struct Count {
    const Program& program;
    const StepShape& shape;
    FunctionRef<uint64_t(WeightId)> bytes_of;
    StepCost cost;

    uint64_t rows(ValueId value) const {
        return program.value(value).domain == RowDomain::tokens ? shape.n_rows : shape.n_output_rows;
    }
    void read(WeightId id) {
        if (id.valid()) cost.weight_bytes += bytes_of(id);
    }

    void operator()(const EmbedOp& op) {
        cost.weight_bytes += bytes_of(op.table) / std::max(1u, program.weight(op.table).rows) * rows(op.out);
    }
    void operator()(const RmsNormOp& op) { read(op.weight); }
    void operator()(const RopeOp& op) { read(op.factors); }
    void operator()(const MatmulOp& op) {
        if (rows(op.out) == 0) return;
        read(op.weight);
        read(op.bias);
        const WeightDecl& weight = program.weight(op.weight);
        cost.product_operations += 2 * rows(op.out) * weight.rows * weight.columns;
    }
    void operator()(const AttentionOp& op) {
        const KvStateDecl& state = program.state(op.state);
        const Seen positions = seen(shape, program.groups[state.group].window);
        const uint64_t dims = uint64_t{state.key_dim} + state.value_dim;
        cost.kv_values += positions.positions * state.n_kv_heads * dims;
        cost.attention_operations += 2 * positions.pairs * op.n_heads * dims;
    }
    void operator()(const ShortConvOp& op) {
        read(op.weight);
        cost.recurrent_values += 2 * uint64_t{program.state(op.state).n_floats};
    }
    void operator()(const GatedRecurrenceOp& op) {
        cost.recurrent_values += 2 * uint64_t{program.state(op.state).n_floats};
    }
    void operator()(const auto&) {}
};

}  // namespace

StepCost step_cost(const Program& program, const StepShape& shape, FunctionRef<uint64_t(WeightId)> bytes_of) {
    Count count{program, shape, bytes_of, {}};
    for (const Op& op : program.ops) std::visit(count, op);
    return count.cost;
}

}  // namespace takt
