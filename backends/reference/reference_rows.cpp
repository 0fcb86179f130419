// Ops of which a row's outcome depends on that row alone.
#include <algorithm>
#include <functional>

#include "program/rope.h"
#include "reference/reference_executable.h"
#include "reference/reference_ops.h"

namespace takt::reference {

void ReferenceExecutable::run_op(const EmbedOp& op) {
    const float* table = weights_->data(op.table);
    for (uint32_t row = 0; row < n_rows(op.out); ++row) {
        const std::span<float> out = memory_.row(op.out, row);
        std::copy_n(table + static_cast<size_t>(batch_->tokens[row]) * out.size(), out.size(), out.begin());
    }
}

void ReferenceExecutable::run_op(const PositionEmbedOp& op) {
    const float* table = weights_->data(op.table);
    for (uint32_t row = 0; row < n_rows(op.out); ++row) {
        const std::span<float> out = memory_.row(op.out, row);
        std::copy_n(table + size_t{rows_.places()[row].position} * out.size(), out.size(), out.begin());
    }
}

void ReferenceExecutable::run_op(const RmsNormOp& op) {
    parallel(n_rows(op.out), [&](uint32_t row, uint32_t) {
        rms_norm_row(memory_.row(op.in, row), op.group, weights_->data(op.weight), op.epsilon,
                     memory_.row(op.out, row));
    });
}

void ReferenceExecutable::run_op(const LayerNormOp& op) {
    parallel(n_rows(op.out), [&](uint32_t row, uint32_t) {
        layer_norm_row(memory_.row(op.in, row), weights_->data(op.weight), weights_->data(op.bias),
                       op.epsilon, memory_.row(op.out, row));
    });
}

// A block of the weight meets every row while it is in the cache; each row is a product of its own.
void ReferenceExecutable::run_op(const RopeOp& op) {
    const float* factors = weights_->data(rope_factors(op, options_.max_context_tokens));
    parallel(n_rows(op.out), [&](uint32_t row, uint32_t) {
        rope_row(op, factors, rows_.places()[row].position, memory_.row(op.in, row),
                 memory_.row(op.out, row));
    });
}

void ReferenceExecutable::run_op(const PositionScaleOp& op) {
    for (uint32_t row = 0; row < n_rows(op.out); ++row) {
        const double factor = position_scale(op, rows_.places()[row].position);
        std::ranges::transform(memory_.row(op.in, row), memory_.row(op.out, row).begin(),
                               [&](float x) { return static_cast<float>(x * factor); });
    }
}

void ReferenceExecutable::run_op(const GatedActivationOp& op) {
    parallel(n_rows(op.out), [&](uint32_t row, uint32_t) {
        gated_activation_row(op.activation, memory_.row(op.gate, row), memory_.row(op.up, row),
                             memory_.row(op.out, row));
    });
}

void ReferenceExecutable::run_op(const ActivationOp& op) {
    parallel(n_rows(op.out), [&](uint32_t row, uint32_t) {
        std::ranges::transform(memory_.row(op.in, row), memory_.row(op.out, row).begin(),
                               [&](float x) { return static_cast<float>(activate(op.activation, x, 1)); });
    });
}

void ReferenceExecutable::run_op(const AddOp& op) {
    for (uint32_t row = 0; row < n_rows(op.out); ++row) {
        std::ranges::transform(memory_.row(op.a, row), memory_.row(op.b, row),
                               memory_.row(op.out, row).begin(), std::plus<>());
    }
}

void ReferenceExecutable::run_op(const AddWeightOp& op) {
    const float* weight = weights_->data(op.weight);
    for (uint32_t row = 0; row < n_rows(op.out); ++row) {
        const std::span<const float> in = memory_.row(op.in, row);
        std::transform(in.begin(), in.end(), weight, memory_.row(op.out, row).begin(), std::plus<>());
    }
}

void ReferenceExecutable::run_op(const ScaleOp& op) {
    const float* by = weights_->data(op.by);
    const bool single = by && program_->weight(op.by).columns == 1;
    for (uint32_t row = 0; row < n_rows(op.out); ++row) {
        const std::span<const float> in = memory_.row(op.in, row);
        const std::span<float> out = memory_.row(op.out, row);
        for (size_t i = 0; i < in.size(); ++i) out[i] = in[i] * op.factor * (by ? by[single ? 0 : i] : 1.0f);
    }
}

void ReferenceExecutable::run_op(const SliceOp& op) {
    for (uint32_t row = 0; row < n_rows(op.out); ++row) {
        const std::span<float> out = memory_.row(op.out, row);
        std::ranges::copy(memory_.row(op.in, row).subspan(op.first, out.size()), out.begin());
    }
}

void ReferenceExecutable::run_op(const SoftCapOp& op) {
    parallel(n_rows(op.out), [&](uint32_t row, uint32_t) {
        soft_cap_row(op.cap, memory_.row(op.in, row), memory_.row(op.out, row));
    });
}

void ReferenceExecutable::run_op(const SelectRowsOp& op) {
    for (uint32_t i = 0; i < rows_.outputs().size(); ++i)
        std::ranges::copy(memory_.row(op.in, rows_.outputs()[i]), memory_.row(op.out, i).begin());
}

}  // namespace takt::reference
