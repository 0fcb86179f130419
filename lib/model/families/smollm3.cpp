// SmolLM3: as Llama, but every fourth layer knows no positions.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {
namespace {

constexpr uint32_t kPlainEvery = 4;

}  // namespace

Result<Program> build_smollm3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const RopeOp rope = rope_shape(config, RopeStyle::interleaved);
    const auto attention = [&](ValueId in) {
        const Qkv qkv = parts.qkv(in);
        const bool plain = (parts.layer_index() + 1) % kPlainEvery == 0;
        return parts.attend(plain ? qkv : parts.rotate(qkv, rope), attention_scale(config.key_dim));
    };
    const auto ffn = [&](ValueId in) { return parts.gated_ffn(in, Activation::silu); };
    return std::move(parts).finish(parts.pre_norm_layers(parts.embed(), attention, ffn));
}

}  // namespace takt
