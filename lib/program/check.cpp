// Walks a program once, op by op, with what has been written so far.
#include "program/check.h"

#include <cmath>
#include <set>

#include "program/checker.h"

namespace takt {

Status ProgramChecker::check_declarations() const {
    std::set<std::string_view> names;
    for (const ValueDecl& value : program_.values) {
        if (value.width == 0) return fail(fmt::format("value {} has width 0", value.name));
        if (!names.insert(value.name).second) return fail(fmt::format("two values are named {}", value.name));
    }
    for (const WeightDecl& weight : program_.weights) {
        if (weight.rows == 0 || weight.columns == 0)
            return fail(fmt::format("weight {} is empty", weight.name));
        if (weight.columns % dtype_info(weight.dtype).block_elements != 0) {
            return fail(fmt::format("weight {} has {} columns, {} comes in blocks of {}", weight.name,
                                    weight.columns, dtype_info(weight.dtype).name,
                                    dtype_info(weight.dtype).block_elements));
        }
        if (weight.runs.run_rows > weight.runs.run_stride) {
            return fail(fmt::format("weight {} has runs of {} rows, {} apart", weight.name,
                                    weight.runs.run_rows, weight.runs.run_stride));
        }
    }
    return check_states();
}

Status ProgramChecker::check_operands(const Op& op) {
    const Operands used = operands(op);
    for (ValueId read : used.read_values()) {
        if (read.index >= program_.values.size()) return fail("reads a value that doesn't exist");
        if (!written_[read.index]) return fail(fmt::format("reads {} before it is written", name(read)));
    }
    const bool writes = !std::holds_alternative<KvAppendOp>(op);
    if (!writes) return {};
    if (used.write.index >= program_.values.size()) return fail("writes a value that doesn't exist");
    if (written_[used.write.index]) return fail(fmt::format("writes {} a second time", name(used.write)));
    written_[used.write.index] = true;
    if (used.n_reads == 0 || std::holds_alternative<SelectRowsOp>(op)) return {};
    if (program_.value(used.reads[0]).domain != program_.value(used.write).domain) {
        return fail(
            fmt::format("{} and {} have different row domains", name(used.reads[0]), name(used.write)));
    }
    return {};
}

Status ProgramChecker::check_op(const EmbedOp& op) {
    TAKT_RETURN_IF_ERROR(use_weight(op.table));
    TAKT_RETURN_IF_ERROR(in_token_domain(op.out));
    const WeightDecl& table = program_.weight(op.table);
    if (table.rows < program_.vocab_size)
        return fail(fmt::format("{} has {} rows for {} tokens", table.name, table.rows, program_.vocab_size));
    if (table.columns != width(op.out))
        return fail(fmt::format("{} has {} columns, {} is {} wide", table.name, table.columns, name(op.out),
                                width(op.out)));
    return {};
}

Status ProgramChecker::check_op(const PositionEmbedOp& op) {
    TAKT_RETURN_IF_ERROR(in_token_domain(op.out));
    TAKT_RETURN_IF_ERROR(use_weight(op.table));
    return use_matrix(op.table, program_.weight(op.table).rows, width(op.out), "table");
}

Status ProgramChecker::check_op(const RmsNormOp& op) {
    TAKT_RETURN_IF_ERROR(same_shape(op.in, op.out));
    TAKT_RETURN_IF_ERROR(positive(op.epsilon, "epsilon"));
    if (op.group == 0 || width(op.in) % op.group != 0) {
        return fail(fmt::format("{} is {} wide, no multiple of the group of {} floats", name(op.in),
                                width(op.in), op.group));
    }
    return use_optional_vector(op.weight, op.group, "norm weight");
}

Status ProgramChecker::check_op(const LayerNormOp& op) {
    TAKT_RETURN_IF_ERROR(same_shape(op.in, op.out));
    TAKT_RETURN_IF_ERROR(positive(op.epsilon, "epsilon"));
    TAKT_RETURN_IF_ERROR(use_vector(op.weight, width(op.in), "norm weight"));
    return use_optional_vector(op.bias, width(op.in), "bias");
}

Status ProgramChecker::check_op(const MatmulOp& op) {
    TAKT_RETURN_IF_ERROR(use_weight(op.weight));
    const WeightDecl& weight = program_.weight(op.weight);
    if (weight.columns != width(op.in))
        return fail(fmt::format("{} has {} columns, {} is {} wide", weight.name, weight.columns, name(op.in),
                                width(op.in)));
    if (weight.rows != width(op.out))
        return fail(fmt::format("{} has {} rows, {} is {} wide", weight.name, weight.rows, name(op.out),
                                width(op.out)));
    return use_optional_vector(op.bias, weight.rows, "bias");
}

Status ProgramChecker::check_op(const RopeOp& op) {
    TAKT_RETURN_IF_ERROR(same_shape(op.in, op.out));
    TAKT_RETURN_IF_ERROR(in_token_domain(op.in));  // positions belong to token rows
    TAKT_RETURN_IF_ERROR(positive(op.base, "base"));
    TAKT_RETURN_IF_ERROR(positive(op.frequency_scale, "frequency scale"));
    if (op.head_dim == 0 || width(op.in) % op.head_dim != 0)
        return fail(fmt::format("{} is {} wide, a head {}", name(op.in), width(op.in), op.head_dim));
    if (op.rotated_dim == 0 || op.rotated_dim % 2 != 0 || op.rotated_dim > op.head_dim) {
        return fail(fmt::format("rotates {} of the {} floats of a head", op.rotated_dim, op.head_dim));
    }
    TAKT_RETURN_IF_ERROR(positive(op.magnitude, "magnitude"));
    if (!std::isfinite(op.ramp_begin) || !std::isfinite(op.ramp_end))
        return fail(fmt::format("ramp is {} to {}", op.ramp_begin, op.ramp_end));
    TAKT_RETURN_IF_ERROR(use_optional_vector(op.factors, op.rotated_dim / 2, "factors"));
    return use_optional_vector(op.long_factors, op.rotated_dim / 2, "long factors");
}

Status ProgramChecker::check_op(const PositionScaleOp& op) {
    TAKT_RETURN_IF_ERROR(in_token_domain(op.in));
    TAKT_RETURN_IF_ERROR(positive(op.beta, "beta"));
    if (op.period == 0) return fail("period is 0");
    return same_shape(op.in, op.out);
}

Status ProgramChecker::check_op(const GatedActivationOp& op) {
    TAKT_RETURN_IF_ERROR(same_shape(op.up, op.out));
    if (width(op.gate) != 1) return same_shape(op.gate, op.up);
    if (program_.value(op.gate).domain == program_.value(op.up).domain) return {};
    return fail(fmt::format("{} and {} have different row domains", name(op.gate), name(op.up)));
}

Status ProgramChecker::check_op(const ActivationOp& op) {
    return same_shape(op.in, op.out);
}

Status ProgramChecker::check_op(const AddOp& op) {
    TAKT_RETURN_IF_ERROR(same_shape(op.a, op.b));
    return same_shape(op.a, op.out);
}

Status ProgramChecker::check_op(const ScaleOp& op) {
    if (!std::isfinite(op.factor)) return fail(fmt::format("factor is {}", op.factor));
    TAKT_RETURN_IF_ERROR(same_shape(op.in, op.out));
    if (!op.by.valid()) return {};
    TAKT_RETURN_IF_ERROR(use_weight(op.by));
    return use_vector(op.by, program_.weight(op.by).columns == 1 ? 1 : width(op.in), "factor");
}

Status ProgramChecker::check_op(const AddWeightOp& op) {
    TAKT_RETURN_IF_ERROR(same_shape(op.in, op.out));
    return use_vector(op.weight, width(op.in), "weight");
}

Status ProgramChecker::check_op(const SliceOp& op) {
    if (uint64_t{op.first} + width(op.out) > width(op.in)) {
        return fail(fmt::format("{} is {} wide, floats {} to {} are asked for", name(op.in), width(op.in),
                                op.first, uint64_t{op.first} + width(op.out)));
    }
    return {};
}

Status ProgramChecker::check_op(const SoftCapOp& op) {
    TAKT_RETURN_IF_ERROR(positive(op.cap, "cap"));
    return same_shape(op.in, op.out);
}

Status ProgramChecker::check_op(const SelectRowsOp& op) {
    TAKT_RETURN_IF_ERROR(in_token_domain(op.in));
    if (program_.value(op.out).domain != RowDomain::outputs)
        return fail(fmt::format("{} is not in the output domain", name(op.out)));
    if (width(op.in) != width(op.out))
        return fail(
            fmt::format("{} is {} wide, {} is {}", name(op.in), width(op.in), name(op.out), width(op.out)));
    return {};
}

Status ProgramChecker::check_ends() const {
    for (size_t i = 0; i < written_.size(); ++i) {
        if (!written_[i]) return fail(fmt::format("value {} is never written", program_.values[i].name));
    }
    for (size_t i = 0; i < weight_used_.size(); ++i) {
        if (!weight_used_[i]) return fail(fmt::format("weight {} is never used", program_.weights[i].name));
    }
    for (size_t i = 0; i < state_read_.size(); ++i) {
        if (!state_read_[i]) return fail(fmt::format("state {} is never read", program_.states[i].name));
    }
    for (size_t i = 0; i < recurrent_used_.size(); ++i) {
        if (!recurrent_used_[i])
            return fail(fmt::format("state {} is never used", program_.recurrent_states[i].name));
    }
    if (program_.hidden.index >= program_.values.size() || program_.logits.index >= program_.values.size())
        return fail("hidden or logits is missing");
    for (ValueId end : {program_.hidden, program_.logits}) {
        if (program_.value(end).domain != RowDomain::outputs)
            return fail(fmt::format("{} is not in the output domain", name(end)));
    }
    if (width(program_.logits) != program_.vocab_size)
        return fail(
            fmt::format("logits are {} wide for {} tokens", width(program_.logits), program_.vocab_size));
    return {};
}

Status ProgramChecker::use_weight(WeightId id) {
    if (id.index >= program_.weights.size()) return fail("names a weight that doesn't exist");
    weight_used_[id.index] = true;
    return {};
}

// Vectors (norm weights, biases, factors) are float32, so that no backend needs a second way to read them.
Status ProgramChecker::use_vector(WeightId id, uint32_t size, std::string_view role) {
    TAKT_RETURN_IF_ERROR(use_weight(id));
    const WeightDecl& weight = program_.weight(id);
    if (weight.rows != 1 || weight.columns != size)
        return fail(fmt::format("{} {} is [{}, {}], must be {} floats", role, weight.name, weight.rows,
                                weight.columns, size));
    if (weight.dtype != DType::f32)
        return fail(
            fmt::format("{} {} is {}, must be f32", role, weight.name, dtype_info(weight.dtype).name));
    return {};
}

Status ProgramChecker::use_optional_vector(WeightId id, uint32_t size, std::string_view role) {
    return id.valid() ? use_vector(id, size, role) : Status();
}

Status ProgramChecker::use_matrix(WeightId id, uint64_t rows, uint64_t columns, std::string_view role) {
    TAKT_RETURN_IF_ERROR(use_weight(id));
    const WeightDecl& weight = program_.weight(id);
    if (weight.rows == rows && weight.columns == columns) return {};
    return fail(fmt::format("{} {} is [{}, {}], must be [{}, {}]", role, weight.name, weight.rows,
                            weight.columns, rows, columns));
}

Status ProgramChecker::same_shape(ValueId a, ValueId b) const {
    if (width(a) != width(b))
        return fail(fmt::format("{} is {} wide, {} is {}", name(a), width(a), name(b), width(b)));
    if (program_.value(a).domain != program_.value(b).domain)
        return fail(fmt::format("{} and {} have different row domains", name(a), name(b)));
    return {};
}

Status ProgramChecker::in_token_domain(ValueId id) const {
    if (program_.value(id).domain == RowDomain::tokens) return {};
    return fail(fmt::format("{} is not in the token domain", name(id)));
}

Status ProgramChecker::positive(float number, std::string_view role) const {
    if (number > 0 && std::isfinite(number)) return {};
    return fail(fmt::format("{} is {}", role, number));
}

Status check_program(const Program& program) {
    return ProgramChecker(program).check();
}

}  // namespace takt
