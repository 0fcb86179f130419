// Llama and the many models that share its shape (SmolLM2, Mistral, Llama 3, DeepSeek-R1's distills):
// pre-norm, interleaved RoPE, SwiGLU; Mixtral puts experts in its place.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_llama(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t group = parts.builder().group("full", 0);
    // Llama 3.1 stretches its context by a factor per frequency.
    const RopeOp rope = rope_shape(config, RopeStyle::interleaved,
                                   parts.optional_vector("rope_freqs.weight", config.rope_rotated_dim / 2));
    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const auto attention = [&](Parts& p, ValueId in) {
            return p.attend(group, p.rotate(p.qkv(in), rope), attention_scale(config.key_dim));
        };
        const auto ffn = [&](Parts& p, ValueId in) {
            return config.n_experts > 0 ? p.experts(in, softmax_routes(), Activation::silu)
                                        : p.gated_ffn(in, Activation::silu);
        };
        x = pre_norm_layer(parts, x, attention, ffn);
    }
    return std::move(parts).finish(x);
}

}  // namespace takt
