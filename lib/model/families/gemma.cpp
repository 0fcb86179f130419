// Gemma 1 and 2: scaled embedding, GeGLU. Gemma 2 alternates window and full layers, caps scores and logits,
// and has norms behind each part too. The norm weights of the file hold the "1 +" of the published formula
// already.
#include <cmath>

#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {
namespace {

constexpr uint32_t kLayersOf27B = 46;  // the one size whose scores are scaled by embedding width per head

ValueId scaled_embedding(Parts& parts, const ModelConfig& config) {
    return parts.builder().scale("embed_scaled", parts.embed(),
                                 std::sqrt(static_cast<float>(config.embedding_dim)));
}

}  // namespace

Result<Program> build_gemma(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t group = parts.builder().group("full", 0);
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    ValueId x = scaled_embedding(parts, config);
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const auto attention = [&](Parts& p, ValueId in) {
            return p.attend(group, p.rotate(p.qkv(in), rope), attention_scale(config.key_dim));
        };
        x = pre_norm_layer(parts, x, attention,
                           [](Parts& p, ValueId in) { return p.gated_ffn(in, Activation::gelu_tanh); });
    }
    return std::move(parts).finish(x);
}

Result<Program> build_gemma2(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t full = parts.builder().group("full", 0);
    const uint32_t window =
        config.window_tokens > 0 ? parts.builder().group("window", config.window_tokens) : full;
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    const float scale = attention_scale(
        config.n_layers == kLayersOf27B ? config.embedding_dim / config.n_heads : config.key_dim);
    ValueId x = scaled_embedding(parts, config);
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const auto attention = [&](Parts& p, ValueId in) {
            const ValueId attended =
                p.attend(p.layer().windowed ? window : full, p.rotate(p.qkv(in), rope), scale);
            return p.norm("post_attention_norm", attended);
        };
        const auto ffn = [](Parts& p, ValueId in) {
            return p.norm("post_ffw_norm", p.gated_ffn(in, Activation::gelu_tanh));
        };
        x = pre_norm_layer(parts, x, attention, ffn);
    }
    return std::move(parts).finish(x);
}

}  // namespace takt
