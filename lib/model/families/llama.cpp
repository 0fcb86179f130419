// Llama and the many models that share its shape (SmolLM2, Mistral, Llama 3): pre-norm, interleaved RoPE,
// SwiGLU.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_llama(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    ProgramBuilder& b = parts.builder();
    const uint32_t group = b.group("full", 0);
    // Llama 3.1 stretches its context by a factor per frequency.
    const WeightId factors = parts.optional_vector("rope_freqs.weight", config.rope_rotated_dim / 2);
    const RopeOp rope =
        rope_shape(config, RopeStyle::interleaved, config.rope_base, config.rope_frequency_scale, factors);

    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const ValueId normed = parts.norm("attn_norm", x);
        const ValueId q = parts.linear("attn_q", normed, config.n_heads * config.key_dim);
        const ValueId k = parts.linear("attn_k", normed, config.n_kv_heads * config.key_dim);
        const ValueId v = parts.linear("attn_v", normed, config.n_kv_heads * config.value_dim);
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
