// Gemma 3 (text): scaled embedding, norms before and after each part and on every head, five window layers to
// one full.
#include <cmath>

#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {
namespace {

constexpr uint32_t kLayersOf27B = 62;  // the one size whose scores are scaled by embedding width per head

float score_scale(const ModelConfig& config) {
    return attention_scale(config.n_layers == kLayersOf27B ? config.embedding_dim / config.n_heads
                                                           : config.key_dim);
}

}  // namespace

// The norm weights of the file hold the "1 +" of the published formula already.
Result<Program> build_gemma3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    ProgramBuilder& b = parts.builder();
    const uint32_t full = b.group("full", 0);
    const uint32_t window = config.window_tokens > 0 ? b.group("window", config.window_tokens) : full;
    // Window layers keep the short base and are never stretched.
    const RopeOp full_rope =
        rope_shape(config, RopeStyle::neox, config.rope_base, config.rope_frequency_scale);
    const RopeOp window_rope = rope_shape(config, RopeStyle::neox, config.rope_base_window, 1.0f);

    ValueId x = b.scale("embed_scaled", parts.embed(), std::sqrt(static_cast<float>(config.embedding_dim)));
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const bool windowed = config.window_layers[layer];
        const RopeOp& rope = windowed ? window_rope : full_rope;
        const ValueId normed = parts.norm("attn_norm", x);
        const ValueId q = parts.linear("attn_q", normed, config.n_heads * config.key_dim);
        const ValueId k = parts.linear("attn_k", normed, config.n_kv_heads * config.key_dim);
        const ValueId v = parts.linear("attn_v", normed, config.n_kv_heads * config.value_dim);
        const ValueId q_rope =
            b.rope(parts.name("q_rope"), parts.head_norm("attn_q_norm", q, config.key_dim), rope);
        const ValueId k_rope =
            b.rope(parts.name("k_rope"), parts.head_norm("attn_k_norm", k, config.key_dim), rope);
        const ValueId attended =
            parts.attend(windowed ? window : full, q_rope, k_rope, v, score_scale(config));
        x = b.add(parts.name("attn_residual"), x, parts.norm("post_attention_norm", attended));
        const ValueId ffn = parts.gated_ffn(parts.norm("ffn_norm", x), Activation::gelu_tanh);
        x = b.add(parts.name("ffn_residual"), x, parts.norm("post_ffw_norm", ffn));
    }
    return std::move(parts).finish(x);
}

}  // namespace takt
