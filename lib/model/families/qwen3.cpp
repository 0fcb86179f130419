// Qwen3: as Qwen2 without biases, with a norm on every head of queries and keys; qwen3moe has experts.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {

Result<Program> build_qwen3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    const auto attention = [&](ValueId in) {
        return parts.attend(parts.rotate(parts.head_norms(parts.qkv(in)), rope),
                            attention_scale(config.key_dim));
    };
    const auto ffn = [&](ValueId in) { return parts.gated_ffn_or_experts(in, Activation::silu); };
    return std::move(parts).finish(parts.pre_norm_layers(parts.embed(), attention, ffn));
}

}  // namespace takt
