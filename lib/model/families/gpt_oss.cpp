// gpt-oss: biases everywhere, sinks in every softmax, window and full layers by turns, experts with a clamped
// SwiGLU. Its YaRN bounds lie between pairs.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_gpt_oss(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const RopeOp rope = rope_shape(config, RopeStyle::neox, {}, YarnBounds::between_pairs);
    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const Qkv qkv = parts.qkv(parts.norm("attn_norm", x), Parts::Bias::required);
        const WeightId sinks = parts.vector("attn_sinks.weight", parts.layer().n_heads);
        x = parts.add("attn_residual", x,
                      parts.attend(parts.rotate(qkv, rope), attention_scale(config.key_dim), sinks));
        const ValueId normed = parts.norm("post_attention_norm", x);
        x = parts.add("ffn_residual", x, parts.experts(normed, softmax_routes(), Activation::swiglu_clamped));
    }
    return std::move(parts).finish(x);
}

}  // namespace takt
