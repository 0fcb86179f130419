// One walk over a program. check.cpp holds what every op has, check_states.cpp the states and the ops on
// them, check_experts.cpp routes and experts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/status.h"
#include "program/operands.h"
#include "program/program.h"

namespace takt {

class ProgramChecker {
public:
    explicit ProgramChecker(const Program& program)
        : program_(program),
          written_(program.values.size()),
          weight_used_(program.weights.size()),
          state_appended_(program.states.size()),
          state_read_(program.states.size()),
          recurrent_used_(program.recurrent_states.size()) {}

    Status check() {
        TAKT_RETURN_IF_ERROR(check_declarations());
        for (op_index_ = 0; op_index_ < program_.ops.size(); ++op_index_) {
            const Op& op = program_.ops[op_index_];
            TAKT_RETURN_IF_ERROR(check_operands(op));
            TAKT_RETURN_IF_ERROR(std::visit([this](const auto& o) { return check_op(o); }, op));
        }
        return check_ends();
    }

private:
    Status check_declarations() const;
    Status check_states() const;
    Status check_operands(const Op& op);
    Status check_ends() const;

    Status check_op(const EmbedOp& op);
    Status check_op(const PositionEmbedOp& op);
    Status check_op(const RmsNormOp& op);
    Status check_op(const LayerNormOp& op);
    Status check_op(const MatmulOp& op);
    Status check_op(const RopeOp& op);
    Status check_op(const PositionScaleOp& op);
    Status check_op(const KvAppendOp& op);
    Status check_op(const AttentionOp& op);
    Status check_op(const ShortConvOp& op);
    Status check_op(const GatedRecurrenceOp& op);
    Status check_op(const GatedDeltaOp& op);
    Status check_op(const GatedActivationOp& op);
    Status check_op(const ActivationOp& op);
    Status check_op(const RouteOp& op);
    Status check_op(const ExpertFfnOp& op);
    Status check_op(const AddOp& op);
    Status check_op(const AddWeightOp& op);
    Status check_op(const ScaleOp& op);
    Status check_op(const SliceOp& op);
    Status check_op(const SoftCapOp& op);
    Status check_op(const SelectRowsOp& op);

    Status use_weight(WeightId id);
    Status use_vector(WeightId id, uint32_t size, std::string_view role);
    Status use_optional_vector(WeightId id, uint32_t size, std::string_view role);
    Status use_matrix(WeightId id, uint64_t rows, uint64_t columns, std::string_view role);
    Status use_recurrent(RecurrentStateId id, uint64_t n_floats);
    Status same_shape(ValueId a, ValueId b) const;
    Status in_token_domain(ValueId id) const;
    Status positive(float number, std::string_view role) const;
    uint32_t width(ValueId id) const { return program_.value(id).width; }
    const std::string& name(ValueId id) const { return program_.value(id).name; }

    // "Op 12 (matmul): …"
    Status fail(std::string_view what) const {
        if (op_index_ >= program_.ops.size())
            return Status(StatusCode::internal, fmt::format("Program of {}: {}.", program_.family, what));
        return Status(StatusCode::internal, fmt::format("Program of {}, op {} ({}): {}.", program_.family,
                                                        op_index_, op_name(program_.ops[op_index_]), what));
    }

    const Program& program_;
    size_t op_index_ = ~size_t{0};
    std::vector<bool> written_, weight_used_, state_appended_, state_read_, recurrent_used_;
};

}  // namespace takt
