// Qwen3: as Qwen2 without biases, with a norm on every head of queries and keys; qwen3moe has experts.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_qwen3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t group = parts.builder().group("full", 0);
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const auto attention = [&](Parts& p, ValueId in) {
            return p.attend(group, p.rotate(p.head_norms(p.qkv(in)), rope), attention_scale(config.key_dim));
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
