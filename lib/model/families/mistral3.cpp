// Ministral 3 and Mistral Small 3: as Llama, with queries that weigh more the further back they can look.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_mistral3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    ProgramBuilder& b = parts.builder();
    const uint32_t group = b.group("full", 0);
    const RopeOp rope = rope_shape(config, RopeStyle::interleaved,
                                   parts.optional_vector("rope_freqs.weight", config.rope_rotated_dim / 2));
    const float beta = parts.keys().optional_or_zero("attention.temperature_scale");
    if (beta != 0 && config.rope_scaling.original_context == 0) {
        parts.fail(StatusCode::model_invalid,
                   parts.keys().key("rope.scaling.original_context_length") + " is missing.");
    }
    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const auto attention = [&](Parts& p, ValueId in) {
            Qkv rotated = p.rotate(p.qkv(in), rope);
            if (beta != 0)
                rotated.q = b.position_scale(p.name("q_scaled"), rotated.q, beta,
                                             config.rope_scaling.original_context);
            return p.attend(group, rotated, attention_scale(config.key_dim));
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
