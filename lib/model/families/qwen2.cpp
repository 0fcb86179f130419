// Qwen2 and Qwen2.5: pre-norm, RoPE on halves of a head, biases on query, key and value, SwiGLU. Qwen1.5-MoE
// and Qwen2-MoE: experts, and one more for every row behind a gate of its own.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {
namespace {

Result<Program> build(const ModelConfig& config, LayerPart ffn, Parts& parts) {
    const uint32_t group = parts.builder().group("full", 0);
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const auto attention = [&](Parts& p, ValueId in) {
            return p.attend(group, p.rotate(p.qkv(in, Parts::Bias::required), rope),
                            attention_scale(config.key_dim));
        };
        x = pre_norm_layer(parts, x, attention, ffn);
    }
    return std::move(parts).finish(x);
}

}  // namespace

Result<Program> build_qwen2(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    return build(config, [](Parts& p, ValueId in) { return p.gated_ffn(in, Activation::silu); }, parts);
}

Result<Program> build_qwen2moe(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t shared_ffn =
        parts.keys().optional("expert_shared_feed_forward_length", config.ffn_dim, {1, 1u << 20});
    const auto ffn = [&](Parts& p, ValueId in) {
        const ValueId chosen = p.experts(in, softmax_routes(false), Activation::silu);
        return p.add("ffn_out", chosen, p.gated_shared_expert(in, shared_ffn, Activation::silu));
    };
    return build(config, ffn, parts);
}

}  // namespace takt
