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

// Window layers keep the short base and are never stretched.
RopeOp window_rope_shape(const ModelConfig& config, RopeOp rope) {
    rope.base = config.rope_base_window;
    rope.frequency_scale = rope.magnitude = 1;
    rope.ramp_begin = rope.ramp_end = 0;
    return rope;
}

}  // namespace

// The norm weights of the file hold the "1 +" of the published formula already.
Result<Program> build_gemma3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    ProgramBuilder& b = parts.builder();
    const uint32_t full = b.group("full", 0);
    const uint32_t window = config.window_tokens > 0 ? b.group("window", config.window_tokens) : full;
    const RopeOp full_rope = rope_shape(config, RopeStyle::neox),
                 window_rope = window_rope_shape(config, full_rope);

    ValueId x = b.scale("embed_scaled", parts.embed(), std::sqrt(static_cast<float>(config.embedding_dim)));
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const bool windowed = parts.layer().windowed;
        const auto attention = [&](Parts& p, ValueId in) {
            const Qkv rotated = p.rotate(p.head_norms(p.qkv(in)), windowed ? window_rope : full_rope);
            return p.norm("post_attention_norm",
                          p.attend(windowed ? window : full, rotated, score_scale(config)));
        };
        const auto ffn = [](Parts& p, ValueId in) {
            return p.norm("post_ffw_norm", p.gated_ffn(in, Activation::gelu_tanh));
        };
        x = pre_norm_layer(parts, x, attention, ffn);
    }
    return std::move(parts).finish(x);
}

}  // namespace takt
