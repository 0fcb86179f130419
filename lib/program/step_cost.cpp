// One visit an op. A weight that two ops multiply with (no family has one) would count twice, as it is read
// twice; a tied head is read as the head and by rows as the embedding.
#include "program/step_cost.h"

#include <algorithm>

namespace takt {
namespace {

constexpr uint64_t kDeltaOperations = 6;     // a float of the state and row: S^T k, k v^T, S^T q, two each
constexpr uint32_t kEveryExpert = 1u << 20;  // rows that choose every expert of any model

// Positions that the rows of the step see, all together, and those that any of them sees.
struct Seen {
    uint64_t pairs = 0, positions = 0;
};

// Row i sees the i + 1 positions up to its own, or the window's.
Seen seen(const StepShape& shape, uint32_t window) {
    if (shape.n_rows == 0) return {};
    const uint64_t first = uint64_t{shape.first_position} + 1, end = first + shape.n_rows;  // seen, one past
    const uint64_t last = end - 1;
    const auto sum = [](uint64_t from, uint64_t to) { return (from + to) * (to - from + 1) / 2; };
    if (window == 0 || last <= window) return {sum(first, last), last};
    const uint64_t n_partly = first <= window ? window - first + 1 : 0;  // rows that see less than the window
    const uint64_t pairs = (n_partly > 0 ? sum(first, window) : 0) + (shape.n_rows - n_partly) * window;
    return {pairs, last - (first > window ? first - window : 0)};
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

    void read_rows(WeightId table, uint64_t n_rows) {
        cost.weight_bytes += bytes_of(table) / std::max(1u, program.weight(table).rows) * n_rows;
    }

    void operator()(const EmbedOp& op) { read_rows(op.table, rows(op.out)); }
    void operator()(const PositionEmbedOp& op) { read_rows(op.table, rows(op.out)); }
    void operator()(const RmsNormOp& op) { read(op.weight); }
    void operator()(const LayerNormOp& op) {
        read(op.weight);
        read(op.bias);
    }
    void operator()(const RopeOp& op) { read(op.factors); }
    void operator()(const AddWeightOp& op) { read(op.weight); }
    void operator()(const ScaleOp& op) { read(op.by); }
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
    void operator()(const GatedDeltaOp& op) {
        const uint64_t floats = program.state(op.state).n_floats;
        read(op.rate);
        read(op.decay_bias);
        cost.recurrent_values += 2 * floats;
        cost.attention_operations += kDeltaOperations * floats * rows(op.out);
    }
    // Rows that choose the same experts share them, so this is the most that is read.
    void operator()(const ExpertFfnOp& op) {
        const uint64_t n_used = program.value(op.routes).width / 2, n_rows = rows(op.out);
        const uint64_t chosen = std::min<uint64_t>(op.n_experts, n_rows * n_used);
        for (const WeightId id : {op.gate, op.up, op.down}) {
            const WeightDecl& weight = program.weight(id);
            const uint64_t bytes = bytes_of(id) / op.n_experts * chosen;
            cost.expert_bytes += bytes;
            cost.weight_bytes += bytes;
            cost.product_operations += 2 * n_rows * n_used * (weight.rows / op.n_experts) * weight.columns;
        }
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

StepCostTable::StepCostTable(const Program& program, FunctionRef<uint64_t(WeightId)> bytes_of,
                             FunctionRef<uint64_t(uint64_t n_values)> kv_row_bytes) {
    const StepCost one = step_cost(program, {1, 0, 0}, bytes_of),
                   two = step_cost(program, {2, 0, 0}, bytes_of),
                   output = step_cost(program, {1, 0, 1}, bytes_of);
    const auto shared_bytes = [](const StepCost& cost) { return cost.weight_bytes - cost.expert_bytes; };
    row_bytes_ = shared_bytes(two) - shared_bytes(one);
    body_bytes_ = shared_bytes(one) - row_bytes_;
    head_bytes_ = output.weight_bytes - one.weight_bytes;
    row_operations_ = two.product_operations - one.product_operations;
    output_operations_ = output.product_operations - one.product_operations;
    expert_row_bytes_ = one.expert_bytes;
    expert_bytes_ = step_cost(program, {kEveryExpert, 0, 0}, bytes_of).expert_bytes;
    recurrent_bytes_ = one.recurrent_values * sizeof(float);
    for (const StateGroup& group : program.groups) groups_.push_back({group.window, 0, 0});
    for (const Op& op : program.ops) {
        if (const auto* delta = std::get_if<GatedDeltaOp>(&op))
            recurrent_operations_ += kDeltaOperations * program.state(delta->state).n_floats;
        const auto* attention = std::get_if<AttentionOp>(&op);
        if (attention == nullptr) continue;
        const KvStateDecl& state = program.state(attention->state);
        const uint64_t dims = uint64_t{state.key_dim} + state.value_dim;
        groups_[state.group].bytes_per_position += kv_row_bytes(state.n_kv_heads * dims);
        groups_[state.group].operations_per_pair += 2 * attention->n_heads * dims;
    }
}

void StepCostTable::add_weights(bool outputs, Cost& cost) const {
    cost.read_bytes += body_bytes_ + (outputs ? head_bytes_ : 0);
}

void StepCostTable::add_rows(const StepShape& rows, Cost& cost) const {
    cost.read_bytes += row_bytes_ * rows.n_rows + recurrent_bytes_;
    const uint64_t experts = std::min(expert_bytes_, cost.expert_bytes + expert_row_bytes_ * rows.n_rows);
    cost.read_bytes += experts - cost.expert_bytes;
    cost.expert_bytes = experts;
    cost.attention_operations += recurrent_operations_ * rows.n_rows;
    cost.product_operations += row_operations_ * rows.n_rows + output_operations_ * rows.n_output_rows;
    for (const Group& group : groups_) {
        if (group.bytes_per_position == 0) continue;
        const Seen positions = seen(rows, group.window);
        cost.read_bytes += group.bytes_per_position * positions.positions;
        cost.attention_operations += group.operations_per_pair * positions.pairs;
    }
}

}  // namespace takt
