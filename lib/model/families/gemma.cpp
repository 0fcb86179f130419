// Gemma 1, 2 and 3 (text): scaled embedding, GeGLU. Gemma 2 has window and full layers by turns, caps scores
// and logits, and has norms behind each part too; Gemma 3 has five window layers to one full, and a norm on
// every head of queries and keys. The norm weights of the file hold the "1 +" of the published formula
// already.
#include <cmath>

#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {
namespace {

// Layers of the one size of each whose scores are scaled by embedding width per head.
constexpr uint32_t kLayersOf27B2 = 46, kLayersOf27B3 = 62;

float score_scale(const ModelConfig& config, uint32_t layers_of_27b) {
    return attention_scale(config.n_layers == layers_of_27b ? config.embedding_dim / config.n_heads
                                                            : config.key_dim);
}

// Window layers keep the short base and are never stretched.
RopeOp window_rope_shape(const ModelConfig& config, RopeOp rope) {
    rope.base = config.rope_base_window;
    rope.frequency_scale = rope.magnitude = 1;
    rope.ramp_begin = rope.ramp_end = 0;
    return rope;
}

Result<Program> build(Parts& parts, const ModelConfig& config, Parts::LayerPart attention,
                      Parts::LayerPart ffn) {
    const ValueId x = parts.builder().scale("embed_scaled", parts.embed(),
                                            std::sqrt(static_cast<float>(config.embedding_dim)));
    return std::move(parts).finish(parts.pre_norm_layers(x, attention, ffn));
}

}  // namespace

Result<Program> build_gemma(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    return build(
        parts, config,
        [&](ValueId in) {
            return parts.attend(parts.rotate(parts.qkv(in), rope), attention_scale(config.key_dim));
        },
        [&](ValueId in) { return parts.gated_ffn(in, Activation::gelu_tanh); });
}

Result<Program> build_gemma2(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    return build(
        parts, config,
        [&](ValueId in) {
            const ValueId attended =
                parts.attend(parts.rotate(parts.qkv(in), rope), score_scale(config, kLayersOf27B2));
            return parts.norm("post_attention_norm", attended);
        },
        [&](ValueId in) { return parts.norm("post_ffw_norm", parts.gated_ffn(in, Activation::gelu_tanh)); });
}

Result<Program> build_gemma3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const RopeOp full_rope = rope_shape(config, RopeStyle::neox),
                 window_rope = window_rope_shape(config, full_rope);
    return build(
        parts, config,
        [&](ValueId in) {
            const Qkv rotated = parts.rotate(parts.head_norms(parts.qkv(in)),
                                             parts.layer().windowed ? window_rope : full_rope);
            return parts.norm("post_attention_norm",
                              parts.attend(rotated, score_scale(config, kLayersOf27B3)));
        },
        [&](ValueId in) { return parts.norm("post_ffw_norm", parts.gated_ffn(in, Activation::gelu_tanh)); });
}

}  // namespace takt
