// Routes to experts, and the experts' products.
#include <cmath>

#include "program/checker.h"

namespace takt {

Status ProgramChecker::check_op(const RouteOp& op) {
    const uint32_t n_experts = width(op.logits);
    if (op.n_used == 0 || op.n_used > n_experts)
        return fail(fmt::format("takes {} of {} experts", op.n_used, n_experts));
    if (width(op.out) != 2 * op.n_used)
        return fail(fmt::format("{} is {} wide for {} experts", name(op.out), width(op.out), op.n_used));
    if (!std::isfinite(op.factor)) return fail(fmt::format("factor is {}", op.factor));
    TAKT_RETURN_IF_ERROR(use_optional_vector(op.selection_bias, n_experts, "selection bias"));
    return use_optional_vector(op.expert_scale, n_experts, "expert scale");
}

Status ProgramChecker::check_op(const ExpertFfnOp& op) {
    if (op.n_experts == 0 || width(op.routes) % 2 != 0)
        return fail(fmt::format("routes {} are {} wide, for {} experts", name(op.routes), width(op.routes),
                                op.n_experts));
    if (program_.value(op.routes).domain != program_.value(op.in).domain)
        return fail(fmt::format("{} and {} have different row domains", name(op.in), name(op.routes)));
    TAKT_RETURN_IF_ERROR(use_weight(op.down));
    const uint64_t ffn = program_.weight(op.down).columns, rows = ffn * op.n_experts;
    TAKT_RETURN_IF_ERROR(use_matrix(op.gate, rows, width(op.in), "gate"));
    TAKT_RETURN_IF_ERROR(use_matrix(op.up, rows, width(op.in), "up"));
    TAKT_RETURN_IF_ERROR(use_matrix(op.down, uint64_t{op.n_experts} * width(op.out), ffn, "down"));
    for (const auto& [bias, columns] : {std::pair{op.gate_bias, ffn}, std::pair{op.up_bias, ffn},
                                        std::pair{op.down_bias, uint64_t{width(op.out)}}}) {
        if (bias.valid()) TAKT_RETURN_IF_ERROR(use_matrix(bias, op.n_experts, columns, "bias"));
    }
    return {};
}

}  // namespace takt
