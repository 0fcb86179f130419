// States, and the ops that read and change them.
#include <cmath>

#include "program/checker.h"

namespace takt {
namespace {

constexpr uint32_t kMaxRecurrentFloats = 1u << 28;  // no size computed from it overflows

}  // namespace

Status ProgramChecker::check_states() const {
    const auto check_group = [this](const std::string& name, uint32_t group, bool recurrent) -> Status {
        if (group >= program_.groups.size())
            return fail(fmt::format("state {} names group {} of {}", name, group, program_.groups.size()));
        if (program_.groups[group].recurrent == recurrent) return {};
        return fail(fmt::format("state {} can't be in group {}, which {} recurrent", name,
                                program_.groups[group].name, recurrent ? "isn't" : "is"));
    };
    for (const StateGroup& group : program_.groups) {
        if (group.recurrent && group.window != 0)
            return fail(fmt::format("group {} is recurrent and has a window", group.name));
    }
    for (const KvStateDecl& state : program_.states) {
        TAKT_RETURN_IF_ERROR(check_group(state.name, state.group, false));
        if (state.n_kv_heads == 0 || state.key_dim == 0 || state.value_dim == 0)
            return fail(fmt::format("state {} is empty", state.name));
    }
    for (const RecurrentStateDecl& state : program_.recurrent_states) {
        TAKT_RETURN_IF_ERROR(check_group(state.name, state.group, true));
        if (state.n_floats == 0 || state.n_floats > kMaxRecurrentFloats) {
            return fail(fmt::format("state {} has {} floats, must be 1 to {}", state.name, state.n_floats,
                                    kMaxRecurrentFloats));
        }
    }
    return {};
}

Status ProgramChecker::check_op(const KvAppendOp& op) {
    if (op.state.index >= program_.states.size()) return fail("names a state that doesn't exist");
    const KvStateDecl& state = program_.state(op.state);
    TAKT_RETURN_IF_ERROR(in_token_domain(op.keys));
    TAKT_RETURN_IF_ERROR(in_token_domain(op.values));
    if (state_appended_[op.state.index]) return fail(fmt::format("appends to {} a second time", state.name));
    state_appended_[op.state.index] = true;
    if (width(op.keys) != uint64_t{state.n_kv_heads} * state.key_dim)
        return fail(fmt::format("keys {} are {} wide, {} holds {} x {}", name(op.keys), width(op.keys),
                                state.name, state.n_kv_heads, state.key_dim));
    if (width(op.values) != uint64_t{state.n_kv_heads} * state.value_dim)
        return fail(fmt::format("values {} are {} wide, {} holds {} x {}", name(op.values), width(op.values),
                                state.name, state.n_kv_heads, state.value_dim));
    return {};
}

Status ProgramChecker::check_op(const AttentionOp& op) {
    if (op.state.index >= program_.states.size()) return fail("names a state that doesn't exist");
    const KvStateDecl& state = program_.state(op.state);
    TAKT_RETURN_IF_ERROR(in_token_domain(op.query));
    TAKT_RETURN_IF_ERROR(positive(op.scale, "scale"));
    if (!(op.soft_cap >= 0) || !std::isfinite(op.soft_cap))
        return fail(fmt::format("soft cap is {}", op.soft_cap));
    if (!state_appended_[op.state.index])
        return fail(fmt::format("reads {} before this step's keys are appended", state.name));
    state_read_[op.state.index] = true;
    if (op.n_heads == 0 || op.n_heads % state.n_kv_heads != 0)
        return fail(fmt::format("{} heads can't share {} key heads", op.n_heads, state.n_kv_heads));
    if (width(op.query) != uint64_t{op.n_heads} * state.key_dim)
        return fail(fmt::format("query {} is {} wide, must be {} x {}", name(op.query), width(op.query),
                                op.n_heads, state.key_dim));
    if (width(op.out) != uint64_t{op.n_heads} * state.value_dim)
        return fail(fmt::format("{} is {} wide, must be {} x {}", name(op.out), width(op.out), op.n_heads,
                                state.value_dim));
    return use_optional_vector(op.sinks, op.n_heads, "sinks");
}

Status ProgramChecker::check_op(const ShortConvOp& op) {
    TAKT_RETURN_IF_ERROR(same_shape(op.in, op.out));
    TAKT_RETURN_IF_ERROR(in_token_domain(op.in));
    TAKT_RETURN_IF_ERROR(use_weight(op.weight));
    const WeightDecl& weight = program_.weight(op.weight);
    if (weight.dtype != DType::f32)
        return fail(fmt::format("{} is {}, must be f32", weight.name, dtype_info(weight.dtype).name));
    if (weight.rows != width(op.in) || weight.columns < 2) {
        return fail(fmt::format("{} is [{}, {}], must be [{}, 2 or more]", weight.name, weight.rows,
                                weight.columns, width(op.in)));
    }
    return use_recurrent(op.state, uint64_t{weight.columns - 1} * weight.rows);
}

Status ProgramChecker::check_op(const GatedRecurrenceOp& op) {
    TAKT_RETURN_IF_ERROR(same_shape(op.gate, op.in));
    TAKT_RETURN_IF_ERROR(same_shape(op.in, op.out));
    TAKT_RETURN_IF_ERROR(in_token_domain(op.in));
    return use_recurrent(op.state, width(op.in));
}

Status ProgramChecker::check_op(const GatedDeltaOp& op) {
    TAKT_RETURN_IF_ERROR(in_token_domain(op.qkv));
    TAKT_RETURN_IF_ERROR(same_shape(op.decay, op.beta));
    TAKT_RETURN_IF_ERROR(positive(op.epsilon, "epsilon"));
    if (op.n_key_heads == 0 || op.n_value_heads % op.n_key_heads != 0)
        return fail(fmt::format("{} value heads can't share {} key heads", op.n_value_heads, op.n_key_heads));
    if (width(op.decay) != op.n_value_heads)
        return fail(
            fmt::format("{} is {} wide for {} heads", name(op.decay), width(op.decay), op.n_value_heads));
    const uint64_t keys = uint64_t{op.n_key_heads} * op.key_dim,
                   values = uint64_t{op.n_value_heads} * op.value_dim;
    if (width(op.qkv) != 2 * keys + values || width(op.out) != values)
        return fail(fmt::format("{} is {} wide and {} {}, must be 2 x {} + {} and {}", name(op.qkv),
                                width(op.qkv), name(op.out), width(op.out), keys, values, values));
    TAKT_RETURN_IF_ERROR(use_vector(op.rate, op.n_value_heads, "rate"));
    TAKT_RETURN_IF_ERROR(use_vector(op.decay_bias, op.n_value_heads, "decay bias"));
    return use_recurrent(op.state, values * op.key_dim);
}

// Each state belongs to one op, which reads it and leaves it changed.
Status ProgramChecker::use_recurrent(RecurrentStateId id, uint64_t n_floats) {
    if (id.index >= program_.recurrent_states.size()) return fail("names a state that doesn't exist");
    const RecurrentStateDecl& state = program_.state(id);
    if (recurrent_used_[id.index]) return fail(fmt::format("uses {} a second time", state.name));
    recurrent_used_[id.index] = true;
    if (state.n_floats == n_floats) return {};
    return fail(fmt::format("{} holds {} floats, must be {}", state.name, state.n_floats, n_floats));
}

}  // namespace takt
