// Granite 3 and 4 (dense and with experts): as Llama, with four factors: of the embedding, of each residual
// part, of the scores, of the logits.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_granite(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    ProgramBuilder& b = parts.builder();
    Hyperparameters& keys = parts.keys();
    const float embedding_scale = keys.optional_positive("embedding_scale", 1),
                residual_scale = keys.optional_positive("residual_scale", 1),
                score_scale = keys.optional_positive("attention.scale", attention_scale(config.key_dim)),
                logit_scale = keys.optional_positive("logit_scale", 1);
    const uint32_t shared_ffn = keys.optional("expert_shared_feed_forward_length", 0, {0, 1u << 20});
    const bool rotates = keys.flag("rope.scaling.finetuned").value_or(true);
    const uint32_t group = b.group("full", 0);
    const RopeOp rope = rope_shape(config, RopeStyle::interleaved);

    ValueId x = b.scale("embed_scaled", parts.embed(), embedding_scale);
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const auto attention = [&](Parts& p, ValueId in) {
            const Qkv qkv = p.qkv(in);
            return b.scale(p.name("attn_scaled"),
                           p.attend(group, rotates ? p.rotate(qkv, rope) : qkv, score_scale), residual_scale);
        };
        const auto ffn = [&](Parts& p, ValueId in) {
            ValueId out;
            if (config.n_experts == 0) {
                out = p.gated_ffn(in, Activation::silu);
            } else {
                out = p.experts(in, softmax_routes(), Activation::silu);
                if (shared_ffn > 0)
                    out = p.add("ffn_out", out, p.shared_expert(in, shared_ffn, Activation::silu));
            }
            return b.scale(p.name("ffn_scaled"), out, residual_scale);
        };
        x = pre_norm_layer(parts, x, attention, ffn);
    }
    return std::move(parts).finish(x, 1 / logit_scale);
}

}  // namespace takt
