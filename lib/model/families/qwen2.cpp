// Qwen2 and Qwen2.5: pre-norm, RoPE on halves of a head, biases on query, key and value, SwiGLU. Qwen1.5-MoE
// and Qwen2-MoE: experts, and one more for every row behind a gate of its own.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {
namespace {

Result<Program> build(Parts& parts, const ModelConfig& config, Parts::LayerPart ffn) {
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    const auto attention = [&](ValueId in) {
        return parts.attend(parts.rotate(parts.qkv(in, Parts::Bias::required), rope),
                            attention_scale(config.key_dim));
    };
    return std::move(parts).finish(parts.pre_norm_layers(parts.embed(), attention, ffn));
}

}  // namespace

Result<Program> build_qwen2(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    return build(parts, config, [&](ValueId in) { return parts.gated_ffn(in, Activation::silu); });
}

Result<Program> build_qwen2moe(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t shared_ffn =
        parts.keys().optional("expert_shared_feed_forward_length", config.ffn_dim, {1, kMaxWidth});
    return build(parts, config, [&](ValueId in) {
        const ValueId chosen = parts.experts(in, softmax_routes(false), Activation::silu);
        return parts.add("ffn_out", chosen, parts.gated_shared_expert(in, shared_ffn, Activation::silu));
    });
}

}  // namespace takt
