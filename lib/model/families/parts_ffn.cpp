// Feed-forward parts: dense, and mixtures of experts.
#include <fmt/format.h>

#include "model/families/parts.h"

namespace takt {

ValueId Parts::gated_ffn(ValueId in, Activation activation) {
    const uint32_t ffn = layer().ffn_dim, width = builder_.width(in);
    ValueId gate, up;
    const GgufTensor* wide = file_.find_tensor(name("ffn_up.weight"));
    if (has("ffn_gate.weight") || wide == nullptr || wide->dims[1] != 2 * uint64_t{ffn}) {
        gate = linear("ffn_gate", in, ffn);
        up = linear("ffn_up", in, ffn);
    } else {
        const auto half = [&](std::string_view part, uint32_t first) {
            return builder_.matmul(name(part), in,
                                   matrix_rows("ffn_up.weight", ffn, width, {first, 0, 0}, 2 * ffn));
        };
        gate = half("ffn_gate", 0);
        up = half("ffn_up", ffn);
    }
    return linear("ffn_down", builder_.gated_activation(name("ffn_gated"), gate, up, activation),
                  config_.embedding_dim);
}

ValueId Parts::experts(ValueId in, const RouteOp& routes, Activation activation) {
    const uint32_t n = config_.n_experts, ffn = config_.expert_ffn_dim, width = builder_.width(in);
    RouteOp route = routes;
    route.n_used = config_.n_experts_used;
    if (!route.logits.valid()) route.logits = linear("ffn_gate_inp", in, n);

    ExpertFfnOp op{};
    op.in = in;
    op.routes = builder_.route(name("ffn_routes"), route);
    op.n_experts = n;
    op.activation = activation;
    if (has("ffn_gate_up_exps.weight")) {
        const GgufTensor* fused = find(name("ffn_gate_up_exps.weight"));
        check_shape(*fused, {width, 2 * ffn, n});
        const auto half = [&](uint32_t first) {
            return builder_.weight(fused->name, fused->dtype, n * ffn, width, {first, ffn, 2 * ffn});
        };
        op.gate = half(0);
        op.up = half(ffn);
    } else {
        op.gate = expert_matrix("ffn_gate_exps.weight", ffn, width);
        op.up = expert_matrix("ffn_up_exps.weight", ffn, width);
    }
    op.down = expert_matrix("ffn_down_exps.weight", config_.embedding_dim, ffn);
    const auto bias = [&](std::string_view tensor, uint32_t columns) {
        return has(tensor) ? matrix(tensor, n, columns) : WeightId{};
    };
    op.gate_bias = bias("ffn_gate_exps.bias", ffn);
    op.up_bias = bias("ffn_up_exps.bias", ffn);
    op.down_bias = bias("ffn_down_exps.bias", config_.embedding_dim);
    return builder_.expert_ffn(name("ffn_experts"), op);
}

ValueId Parts::gated_ffn_or_experts(ValueId in, Activation activation) {
    return config_.n_experts > 0 ? experts(in, softmax_routes(), activation) : gated_ffn(in, activation);
}

ValueId Parts::shared_expert(ValueId in, uint32_t ffn_dim, Activation activation) {
    const ValueId gate = linear("ffn_gate_shexp", in, ffn_dim), up = linear("ffn_up_shexp", in, ffn_dim);
    return linear("ffn_down_shexp", builder_.gated_activation(name("ffn_gated_shexp"), gate, up, activation),
                  config_.embedding_dim);
}

ValueId Parts::gated_shared_expert(ValueId in, uint32_t ffn_dim, Activation activation) {
    const ValueId out = shared_expert(in, ffn_dim, activation), gate = linear("ffn_gate_inp_shexp", in, 1);
    return builder_.gated_activation(name("ffn_shared"), gate, out, Activation::sigmoid);
}

RouteOp softmax_routes(bool normalize) {
    RouteOp routes{};
    routes.scores = RouteScores::softmax;
    routes.normalize = normalize;
    routes.factor = 1;
    return routes;
}

}  // namespace takt
