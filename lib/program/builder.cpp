// Appends ops to a program and gives each output its width. Everything else is check_program's business.
#include "program/builder.h"

#include <fmt/format.h>

#include "program/check.h"

namespace takt {

ProgramBuilder::ProgramBuilder(std::string family, uint32_t vocab_size) {
    program_.family = std::move(family);
    program_.vocab_size = vocab_size;
}

WeightId ProgramBuilder::weight(std::string name, DType dtype, uint32_t rows, uint32_t columns,
                                RowRuns runs) {
    for (uint32_t i = 0; i < program_.weights.size(); ++i) {
        const WeightDecl& known = program_.weights[i];
        if (known.name != name || known.runs != runs) continue;
        if ((known.dtype != dtype || known.rows != rows || known.columns != columns) && mistake_.ok()) {
            mistake_ = Status(StatusCode::internal,
                              fmt::format("Weight {} is declared twice with different shapes.", name));
        }
        return {i};
    }
    program_.weights.push_back({std::move(name), dtype, rows, columns, runs});
    return {static_cast<uint32_t>(program_.weights.size() - 1)};
}

uint32_t ProgramBuilder::group(std::string name, uint32_t window) {
    program_.groups.push_back({std::move(name), window, false});
    return static_cast<uint32_t>(program_.groups.size() - 1);
}

uint32_t ProgramBuilder::recurrent_group(std::string name) {
    program_.groups.push_back({std::move(name), 0, true});
    return static_cast<uint32_t>(program_.groups.size() - 1);
}

StateId ProgramBuilder::kv_state(std::string name, uint32_t group, uint32_t n_kv_heads, uint32_t key_dim,
                                 uint32_t value_dim) {
    program_.states.push_back({std::move(name), group, n_kv_heads, key_dim, value_dim});
    return {static_cast<uint32_t>(program_.states.size() - 1)};
}

RecurrentStateId ProgramBuilder::recurrent_state(std::string name, uint32_t group, uint32_t n_floats) {
    program_.recurrent_states.push_back({std::move(name), group, n_floats});
    return {static_cast<uint32_t>(program_.recurrent_states.size() - 1)};
}

ValueId ProgramBuilder::embed(std::string name, WeightId table) {
    const uint32_t width = weight_decl(table).columns;
    const ValueId out = new_value(std::move(name), width, RowDomain::tokens);
    program_.ops.push_back(EmbedOp{table, out});
    return out;
}

ValueId ProgramBuilder::position_embed(std::string name, WeightId table) {
    const uint32_t width = weight_decl(table).columns;
    const ValueId out = new_value(std::move(name), width, RowDomain::tokens);
    program_.ops.push_back(PositionEmbedOp{table, out});
    return out;
}

ValueId ProgramBuilder::rms_norm(std::string name, ValueId in, WeightId weight, float epsilon) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(RmsNormOp{in, weight, out, epsilon, weight_decl(weight).columns});
    return out;
}

ValueId ProgramBuilder::rms_norm_plain(std::string name, ValueId in, uint32_t group, float epsilon) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(RmsNormOp{in, {}, out, epsilon, group});
    return out;
}

ValueId ProgramBuilder::layer_norm(std::string name, ValueId in, WeightId weight, WeightId bias,
                                   float epsilon) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(LayerNormOp{in, weight, bias, out, epsilon});
    return out;
}

ValueId ProgramBuilder::matmul(std::string name, ValueId in, WeightId weight, WeightId bias) {
    const ValueId out = new_value(std::move(name), weight_decl(weight).rows, decl(in).domain);
    program_.ops.push_back(MatmulOp{in, weight, bias, out, n_adapter_slots_++});
    return out;
}

ValueId ProgramBuilder::rope(std::string name, ValueId in, const RopeOp& shape) {
    RopeOp op = shape;
    op.in = in;
    op.out = new_like(std::move(name), in);
    program_.ops.push_back(op);
    return op.out;
}

ValueId ProgramBuilder::position_scale(std::string name, ValueId in, float beta, uint32_t period) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(PositionScaleOp{in, out, beta, period});
    return out;
}

void ProgramBuilder::kv_append(ValueId keys, ValueId values, StateId state) {
    program_.ops.push_back(KvAppendOp{keys, values, state});
}

ValueId ProgramBuilder::attention(std::string name, ValueId query, StateId state, uint32_t n_heads,
                                  float scale, float soft_cap) {
    return attention(std::move(name), AttentionOp{query, state, {}, n_heads, scale, soft_cap, {}, false});
}

ValueId ProgramBuilder::attention(std::string name, const AttentionOp& shape) {
    AttentionOp op = shape;
    const uint32_t value_dim =
        op.state.index < program_.states.size() ? program_.state(op.state).value_dim : 0;
    op.out = new_value(std::move(name), op.n_heads * value_dim, decl(op.query).domain);
    program_.ops.push_back(op);
    return op.out;
}

ValueId ProgramBuilder::short_conv(std::string name, ValueId in, WeightId weight, RecurrentStateId state) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(ShortConvOp{in, weight, state, out});
    return out;
}

ValueId ProgramBuilder::gated_recurrence(std::string name, ValueId gate, ValueId in, RecurrentStateId state) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(GatedRecurrenceOp{gate, in, state, out});
    return out;
}

ValueId ProgramBuilder::gated_delta(std::string name, const GatedDeltaOp& shape) {
    GatedDeltaOp op = shape;
    op.out = new_value(std::move(name), op.n_value_heads * op.value_dim, decl(op.qkv).domain);
    program_.ops.push_back(op);
    return op.out;
}

ValueId ProgramBuilder::gated_activation(std::string name, ValueId gate, ValueId up, Activation activation) {
    const ValueId out = new_like(std::move(name), up);
    program_.ops.push_back(GatedActivationOp{gate, up, out, activation});
    return out;
}

ValueId ProgramBuilder::activation(std::string name, ValueId in, Activation activation) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(ActivationOp{in, out, activation});
    return out;
}

ValueId ProgramBuilder::route(std::string name, const RouteOp& shape) {
    RouteOp op = shape;
    op.out = new_value(std::move(name), 2 * op.n_used, decl(op.logits).domain);
    program_.ops.push_back(op);
    return op.out;
}

ValueId ProgramBuilder::expert_ffn(std::string name, const ExpertFfnOp& shape) {
    ExpertFfnOp op = shape;
    const uint32_t width = op.n_experts > 0 ? weight_decl(op.down).rows / op.n_experts : 0;
    op.out = new_value(std::move(name), width, decl(op.in).domain);
    program_.ops.push_back(op);
    return op.out;
}

ValueId ProgramBuilder::add(std::string name, ValueId a, ValueId b) {
    const ValueId out = new_like(std::move(name), a);
    program_.ops.push_back(AddOp{a, b, out});
    return out;
}

ValueId ProgramBuilder::add_weight(std::string name, ValueId in, WeightId weight) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(AddWeightOp{in, weight, out});
    return out;
}

ValueId ProgramBuilder::scale(std::string name, ValueId in, float factor, WeightId by) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(ScaleOp{in, out, factor, by});
    return out;
}

ValueId ProgramBuilder::slice(std::string name, ValueId in, uint32_t first, uint32_t width) {
    const ValueId out = new_value(std::move(name), width, decl(in).domain);
    program_.ops.push_back(SliceOp{in, out, first});
    return out;
}

ValueId ProgramBuilder::soft_cap(std::string name, ValueId in, float cap) {
    const ValueId out = new_like(std::move(name), in);
    program_.ops.push_back(SoftCapOp{in, out, cap});
    return out;
}

ValueId ProgramBuilder::select_rows(std::string name, ValueId in) {
    const ValueId out = new_value(std::move(name), decl(in).width, RowDomain::outputs);
    program_.ops.push_back(SelectRowsOp{in, out});
    return out;
}

Result<Program> ProgramBuilder::finish(ValueId hidden, ValueId logits) && {
    TAKT_RETURN_IF_ERROR(mistake_);
    program_.hidden = hidden;
    program_.logits = logits;
    TAKT_RETURN_IF_ERROR(check_program(program_));
    return std::move(program_);
}

ValueId ProgramBuilder::new_value(std::string name, uint32_t width, RowDomain domain) {
    program_.values.push_back({std::move(name), width, domain});
    return {static_cast<uint32_t>(program_.values.size() - 1)};
}

ValueId ProgramBuilder::new_like(std::string name, ValueId model) {
    const ValueDecl like = decl(model);  // a copy: new_value moves the values
    return new_value(std::move(name), like.width, like.domain);
}

ValueDecl ProgramBuilder::decl(ValueId id) const {
    return id.index < program_.values.size() ? program_.value(id) : ValueDecl{};
}

WeightDecl ProgramBuilder::weight_decl(WeightId id) const {
    return id.index < program_.weights.size() ? program_.weight(id) : WeightDecl{};
}

}  // namespace takt
