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
    const uint32_t shared_ffn = keys.optional("expert_shared_feed_forward_length", 0, {0, kMaxWidth});
    const bool rotates = keys.flag("rope.scaling.finetuned").value_or(true);
    const RopeOp rope = rope_shape(config, RopeStyle::interleaved);
    const auto attention = [&](ValueId in) {
        const Qkv qkv = parts.qkv(in);
        const ValueId attended = parts.attend(rotates ? parts.rotate(qkv, rope) : qkv, score_scale);
        return b.scale(parts.name("attn_scaled"), attended, residual_scale);
    };
    const auto ffn = [&](ValueId in) {
        ValueId out = parts.gated_ffn_or_experts(in, Activation::silu);
        if (config.n_experts > 0 && shared_ffn > 0)
            out = parts.add("ffn_out", out, parts.shared_expert(in, shared_ffn, Activation::silu));
        return b.scale(parts.name("ffn_scaled"), out, residual_scale);
    };
    const ValueId x = b.scale("embed_scaled", parts.embed(), embedding_scale);
    return std::move(parts).finish(parts.pre_norm_layers(x, attention, ffn), 1 / logit_scale);
}

}  // namespace takt
