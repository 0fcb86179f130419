// OLMo 2: norms behind attention and feed-forward instead of before them, and on whole rows of queries and
// keys.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_olmo2(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        Qkv qkv = parts.qkv(x);
        qkv.q = parts.norm("attn_q_norm", qkv.q);
        qkv.k = parts.norm("attn_k_norm", qkv.k);
        const ValueId attended = parts.attend(parts.rotate(qkv, rope), attention_scale(config.key_dim));
        x = parts.add("attn_residual", x, parts.norm("post_attention_norm", attended));
        x = parts.add("ffn_residual", x, parts.norm("post_ffw_norm", parts.gated_ffn(x, Activation::silu)));
    }
    return std::move(parts).finish(x);
}

}  // namespace takt
