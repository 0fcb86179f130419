// Activations, routes to experts, the gated delta rule.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "reference/reference_ops.h"

namespace takt::reference {
namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

double softplus(double x) {
    return x > 30 ? x : std::log1p(std::exp(x));
}

double gelu_tanh(double x) {
    constexpr double kSqrt2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    return 0.5 * x * (1 + std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x)));
}

double inverse_length(const float* x, uint32_t n, double epsilon) {
    return 1 / std::sqrt(dot(x, x, n) + epsilon);
}

}  // namespace

double activate(Activation activation, double gate, double up) {
    switch (activation) {
        case Activation::silu:
            return gate * sigmoid(gate) * up;
        case Activation::gelu_tanh:
            return gelu_tanh(gate) * up;
        case Activation::gelu:
            return 0.5 * gate * (1 + std::erf(gate / std::numbers::sqrt2)) * up;
        case Activation::sigmoid:
            return sigmoid(gate) * up;
        case Activation::none:
            return gate * up;
        case Activation::swiglu_clamped: {
            const double low_gate = std::min(gate, 7.0);
            return low_gate * sigmoid(1.702 * low_gate) * (std::clamp(up, -7.0, 7.0) + 1);
        }
    }
    return 0;
}

void route_row(const RouteOp& op, std::span<const float> logits, const float* selection_bias,
               const float* expert_scale, std::span<float> out) {
    std::vector<double> scores(logits.begin(), logits.end());
    if (op.scores == RouteScores::softmax) {
        softmax(scores);
    } else {
        for (double& score : scores) score = sigmoid(score);
    }
    const auto wanted = [&](uint32_t e) {
        const double score = scores[e] + (selection_bias ? selection_bias[e] : 0.0f);
        return std::isnan(score) ? -INFINITY : score;
    };
    std::vector<uint32_t> order(scores.size());
    for (uint32_t e = 0; e < order.size(); ++e) order[e] = e;
    std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return wanted(a) > wanted(b); });
    double sum = 0;
    for (uint32_t i = 0; i < op.n_used; ++i) sum += scores[order[i]];
    for (uint32_t i = 0; i < op.n_used; ++i) {
        const uint32_t expert = order[i];
        const double weight = scores[expert] / (op.normalize ? sum : 1.0) * op.factor;
        out[i] = static_cast<float>(expert);
        out[op.n_used + i] = static_cast<float>(weight * (expert_scale ? expert_scale[expert] : 1.0f));
    }
}

void gated_delta_row(const GatedDeltaOp& op, const DeltaRow& row, std::span<float> state,
                     std::span<float> out) {
    const uint32_t n = op.key_dim, m = op.value_dim;
    const float* queries = row.qkv.data();
    const float* keys = queries + size_t{op.n_key_heads} * n;
    const float* values = keys + size_t{op.n_key_heads} * n;
    for (uint32_t head = 0; head < op.n_value_heads; ++head) {
        const float *q = queries + size_t{head % op.n_key_heads} * n,
                    *k = keys + size_t{head % op.n_key_heads} * n, *v = values + size_t{head} * m;
        float* s = state.data() + size_t{head} * n * m;
        const double k_scale = inverse_length(k, n, op.epsilon),
                     q_scale = inverse_length(q, n, op.epsilon) / std::sqrt(static_cast<double>(n));
        const double keep =
            std::exp(row.rate[head] * softplus(static_cast<double>(row.decay[head]) + row.decay_bias[head]));
        const double beta = sigmoid(row.beta[head]);
        for (uint32_t d = 0; d < m; ++d) {
            double seen = 0;
            for (uint32_t i = 0; i < n; ++i) seen += keep * s[size_t{i} * m + d] * k[i] * k_scale;
            const double delta = beta * (v[d] - seen);
            double sum = 0;
            for (uint32_t i = 0; i < n; ++i) {
                float& entry = s[size_t{i} * m + d];
                entry = static_cast<float>(keep * entry + k[i] * k_scale * delta);
                sum += static_cast<double>(entry) * q[i] * q_scale;
            }
            out[size_t{head} * m + d] = static_cast<float>(sum);
        }
    }
}

}  // namespace takt::reference
