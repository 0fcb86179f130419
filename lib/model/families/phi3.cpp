// Phi-3, Phi-3.5, Phi-4 and Phi-4-mini: queries, keys and values in one tensor, gate and up in another; RoPE
// on a part of each head; LongRoPE's two sets of factors.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

// The files' sliding window (2,047 of Phi-3-mini-4k's 4,096) is left out, as the usual engine does.
Result<Program> build_phi3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t n_pairs = config.rope_rotated_dim / 2;
    RopeOp rope =
        rope_shape(config, RopeStyle::neox, parts.optional_vector("rope_factors_short.weight", n_pairs));
    if (rope.factors.valid()) {
        rope.long_factors = parts.vector("rope_factors_long.weight", n_pairs);
        rope.short_context = parts.required_original_context();
    }
    const auto attention = [&](ValueId in) {
        return parts.attend(parts.rotate(parts.qkv(in), rope), attention_scale(config.key_dim));
    };
    const auto ffn = [&](ValueId in) { return parts.gated_ffn(in, Activation::silu); };
    return std::move(parts).finish(parts.pre_norm_layers(parts.embed(), attention, ffn));
}

}  // namespace takt
