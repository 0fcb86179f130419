// Row-wise ops of a few families, in plain loops: compiled once, so their bits are the same on every ISA.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "cpu/cpu_executable.h"

namespace takt::cpu {
namespace {

float sigmoid(float x) {
    return 1.0f / (1.0f + std::exp(-x));
}

// The products of kernels: silu and gelu_tanh have vector forms.
float plain_activation(Activation activation, float gate, float up) {
    switch (activation) {
        case Activation::gelu:
            return 0.5f * gate * (1.0f + std::erf(gate * (std::numbers::sqrt2_v<float> / 2))) * up;
        case Activation::sigmoid:
            return sigmoid(gate) * up;
        case Activation::swiglu_clamped: {
            const float low_gate = std::min(gate, 7.0f);
            return low_gate * sigmoid(1.702f * low_gate) * (std::clamp(up, -7.0f, 7.0f) + 1.0f);
        }
        default:
            return gate * up;
    }
}

float score_of(RouteScores scores, float logit, float highest) {
    return scores == RouteScores::softmax ? std::exp(logit - highest) : sigmoid(logit);
}

}  // namespace

void CpuExecutable::activate(Activation activation, const float* gate, const float* up, float* out,
                             size_t n) const {
    if (activation == Activation::silu) return kernels_.rows.silu_gate(gate, up, out, n);
    if (activation == Activation::gelu_tanh) return kernels_.rows.gelu_tanh_gate(gate, up, out, n);
    for (size_t i = 0; i < n; ++i) out[i] = plain_activation(activation, gate[i], up[i]);
}

void CpuExecutable::run_op(const GatedActivationOp& op, RowRange rows, uint32_t) {
    const Rows gate = memory_.rows(op.gate), up = memory_.rows(op.up), out = memory_.rows(op.out);
    const size_t n = program_->value(op.out).width;
    const bool one_gate = program_->value(op.gate).width == 1 && n > 1;
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        if (one_gate) {
            const float one = 1;
            float factor = 0;
            activate(op.activation, gate.row(row), &one, &factor, 1);
            kernels_.rows.scale(up.row(row), factor, out.row(row), n);
        } else {
            activate(op.activation, gate.row(row), up.row(row), out.row(row), n);
        }
    }
}

void CpuExecutable::run_op(const ActivationOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    for (uint32_t row = rows.first; row < rows.end; ++row)
        activate(op.activation, in.row(row), ones_.data(), out.row(row), program_->value(op.out).width);
}

void CpuExecutable::run_op(const PositionEmbedOp& op, RowRange rows, uint32_t) {
    const Rows out = memory_.rows(op.out);
    for (uint32_t row = rows.first; row < rows.end; ++row)
        weights_->matrix(op.table).unpack_row(rows_.places()[row].position, out.row(row));
}

void CpuExecutable::run_op(const LayerNormOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    const size_t n = program_->value(op.in).width;
    const float *weight = weights_->vector(op.weight), *bias = weights_->vector(op.bias);
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        const float* x = in.row(row);
        double sum = 0, squares = 0;
        for (size_t i = 0; i < n; ++i) sum += x[i];
        const double mean = sum / static_cast<double>(n);
        for (size_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
        const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + op.epsilon);
        for (size_t i = 0; i < n; ++i) {
            out.row(row)[i] =
                static_cast<float>((x[i] - mean) * factor) * weight[i] + (bias ? bias[i] : 0.0f);
        }
    }
}

void CpuExecutable::run_op(const PositionScaleOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        const double factor = 1 + op.beta * std::log1p(rows_.places()[row].position / op.period);
        kernels_.rows.scale(in.row(row), static_cast<float>(factor), out.row(row),
                            program_->value(op.out).width);
    }
}

void CpuExecutable::run_op(const AddWeightOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    for (uint32_t row = rows.first; row < rows.end; ++row)
        kernels_.rows.add(in.row(row), weights_->vector(op.weight), out.row(row),
                          program_->value(op.out).width);
}

void CpuExecutable::multiply_by_weight(const ScaleOp& op, float* row) const {
    const float* by = weights_->vector(op.by);
    const bool single = program_->weight(op.by).columns == 1;
    for (size_t i = 0; i < program_->value(op.out).width; ++i) row[i] *= by[single ? 0 : i];
}

void CpuExecutable::run_op(const SliceOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    for (uint32_t row = rows.first; row < rows.end; ++row)
        std::copy_n(in.row(row) + op.first, program_->value(op.out).width, out.row(row));
}

// The best one n_used times: no order of numbers that aren't finite can mislead it.
void CpuExecutable::run_op(const RouteOp& op, RowRange rows, uint32_t worker) {
    const Rows in = memory_.rows(op.logits), out = memory_.rows(op.out);
    const uint32_t n = program_->value(op.logits).width;
    const float *selection_bias = weights_->vector(op.selection_bias),
                *expert_scale = weights_->vector(op.expert_scale);
    float* scores = memory_.scratch(worker);
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        const float* logits = in.row(row);
        const float highest = *std::max_element(logits, logits + n);
        float all = 0;
        for (uint32_t e = 0; e < n; ++e) all += scores[e] = score_of(op.scores, logits[e], highest);
        float* chosen = out.row(row);
        float* weights = chosen + op.n_used;
        float sum = 0;
        for (uint32_t i = 0; i < op.n_used; ++i) {
            uint32_t best = 0;
            float best_score = -INFINITY;
            for (uint32_t e = 0; e < n; ++e) {
                const bool taken = std::find(chosen, chosen + i, static_cast<float>(e)) != chosen + i;
                const float score = scores[e] + (selection_bias ? selection_bias[e] : 0.0f);
                if (taken || !(score > best_score)) continue;
                best = e;
                best_score = score;
            }
            chosen[i] = static_cast<float>(best);
            weights[i] = op.scores == RouteScores::softmax ? scores[best] / all : scores[best];
            sum += weights[i];
        }
        for (uint32_t i = 0; i < op.n_used; ++i) {
            weights[i] = weights[i] / (op.normalize ? sum : 1.0f) * op.factor;
            if (expert_scale) weights[i] *= expert_scale[static_cast<size_t>(chosen[i])];
        }
    }
}

}  // namespace takt::cpu
