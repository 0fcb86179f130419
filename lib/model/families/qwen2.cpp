// Qwen2 and Qwen2.5: pre-norm, RoPE on halves of a head, biases on query, key and value, SwiGLU.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_qwen2(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    ProgramBuilder& b = parts.builder();
    const uint32_t group = b.group("full", 0);
    const RopeOp rope = rope_shape(config, RopeStyle::neox, config.rope_base, config.rope_frequency_scale);
    constexpr Parts::Bias kRequired = Parts::Bias::required;

    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const ValueId normed = parts.norm("attn_norm", x);
        const ValueId q = parts.linear("attn_q", normed, config.n_heads * config.key_dim, kRequired);
        const ValueId k = parts.linear("attn_k", normed, config.n_kv_heads * config.key_dim, kRequired);
        const ValueId v = parts.linear("attn_v", normed, config.n_kv_heads * config.value_dim, kRequired);
        const ValueId q_rope = b.rope(parts.name("q_rope"), q, rope);
        const ValueId k_rope = b.rope(parts.name("k_rope"), k, rope);
        const ValueId attended = parts.attend(group, q_rope, k_rope, v, attention_scale(config.key_dim));
        x = b.add(parts.name("attn_residual"), x, attended);
        const ValueId ffn = parts.gated_ffn(parts.norm("ffn_norm", x), Activation::silu);
        x = b.add(parts.name("ffn_residual"), x, ffn);
    }
    return std::move(parts).finish(x);
}

}  // namespace takt
