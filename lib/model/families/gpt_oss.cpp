// gpt-oss: biases everywhere, sinks in every softmax, window and full layers by turns, experts with a clamped
// SwiGLU. Its YaRN bounds lie between pairs.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_gpt_oss(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t full = parts.builder().group("full", 0);
    const uint32_t window =
        config.window_tokens > 0 ? parts.builder().group("window", config.window_tokens) : full;
    RopeOp rope = rope_shape(config, RopeStyle::neox);
    if (config.rope_scaling.kind == RopeScaling::Kind::yarn)
        stretch_by_yarn(config.rope_scaling, false, rope);
    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const WeightId sinks = parts.vector("attn_sinks.weight", parts.layer().n_heads);
        const ValueId attended =
            parts.attend(parts.layer().windowed ? window : full,
                         parts.rotate(parts.qkv(parts.norm("attn_norm", x), Parts::Bias::required), rope),
                         attention_scale(config.key_dim), sinks);
        x = parts.add("attn_residual", x, attended);
        const ValueId normed = parts.norm("post_attention_norm", x);
        x = parts.add("ffn_residual", x, parts.experts(normed, softmax_routes(), Activation::swiglu_clamped));
    }
    return std::move(parts).finish(x);
}

}  // namespace takt
