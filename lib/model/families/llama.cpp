// Llama and the many models that share its shape (SmolLM2, Mistral, Llama 3, DeepSeek-R1's distills):
// pre-norm, interleaved RoPE, SwiGLU; Mixtral puts experts in its place. Ministral 3 and Mistral Small 3: the
// same with queries that weigh more the further back they can look.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {
namespace {

// temperature: 0 for none.
Result<Program> build(Parts& parts, const ModelConfig& config, float temperature) {
    // Llama 3.1 stretches its context by a factor per frequency.
    const RopeOp rope = rope_shape(config, RopeStyle::interleaved,
                                   parts.optional_vector("rope_freqs.weight", config.rope_rotated_dim / 2));
    const uint32_t period = temperature != 0 ? parts.required_original_context() : 0;
    const auto attention = [&](ValueId in) {
        Qkv rotated = parts.rotate(parts.qkv(in), rope);
        if (temperature != 0)
            rotated.q =
                parts.builder().position_scale(parts.name("q_scaled"), rotated.q, temperature, period);
        return parts.attend(rotated, attention_scale(config.key_dim));
    };
    const auto ffn = [&](ValueId in) { return parts.gated_ffn_or_experts(in, Activation::silu); };
    return std::move(parts).finish(parts.pre_norm_layers(parts.embed(), attention, ffn));
}

}  // namespace

Result<Program> build_llama(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    return build(parts, config, 0);
}

Result<Program> build_mistral3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    return build(parts, config, parts.keys().optional_or_zero("attention.temperature_scale"));
}

}  // namespace takt
