// Mixtures of experts: each row's experts one after another.
#include <algorithm>
#include <vector>

#include "reference/reference_executable.h"
#include "reference/reference_ops.h"

namespace takt::reference {

void ReferenceExecutable::run_op(const RouteOp& op) {
    for (uint32_t row = 0; row < n_rows(op.out); ++row) {
        route_row(op, memory_.row(op.logits, row), weights_->data(op.selection_bias),
                  weights_->data(op.expert_scale), memory_.row(op.out, row));
    }
}

void ReferenceExecutable::run_op(const ExpertFfnOp& op) {
    const uint32_t n_used = program_->value(op.routes).width / 2;
    parallel(n_rows(op.out), [&](uint32_t row, uint32_t) {
        const std::span<const float> routes = memory_.row(op.routes, row);
        const std::span<float> out = memory_.row(op.out, row);
        std::vector<double> sum(out.size());
        for (uint32_t i = 0; i < n_used; ++i)
            run_expert(op, static_cast<uint32_t>(routes[i]), memory_.row(op.in, row), routes[n_used + i],
                       sum);
        std::ranges::transform(sum, out.begin(), [](double x) { return static_cast<float>(x); });
    });
}

void ReferenceExecutable::run_expert(const ExpertFfnOp& op, uint32_t expert, std::span<const float> in,
                                     double weight, std::span<double> sum) {
    const auto multiply = [&](WeightId matrix, WeightId bias, std::span<const float> x,
                              std::span<float> out) {
        const auto n = static_cast<uint32_t>(out.size());
        const MatrixView view{weights_->data(matrix) + size_t{expert} * n * x.size(), n,
                              static_cast<uint32_t>(x.size())};
        matmul_block(view, bias.valid() ? weights_->data(bias) + size_t{expert} * n : nullptr, 0, n, x.data(),
                     out.data());
    };
    std::vector<float> gate(program_->weight(op.down).columns), up(gate.size()), down(sum.size());
    multiply(op.gate, op.gate_bias, in, gate);
    multiply(op.up, op.up_bias, in, up);
    gated_activation_row(op.activation, gate, up, gate);
    multiply(op.down, op.down_bias, gate, down);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * down[i];
}

}  // namespace takt::reference
