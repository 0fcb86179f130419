// SmolLM3: as Llama, but every fourth layer knows no positions.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {
namespace {

constexpr uint32_t kPlainEvery = 4;

}  // namespace

Result<Program> build_smollm3(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t group = parts.builder().group("full", 0);
    const RopeOp rope = rope_shape(config, RopeStyle::interleaved);
    ValueId x = parts.embed();
    for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
        parts.enter_layer(layer);
        const auto attention = [&](Parts& p, ValueId in) {
            const Qkv qkv = p.qkv(in);
            return p.attend(group, (layer + 1) % kPlainEvery == 0 ? qkv : p.rotate(qkv, rope),
                            attention_scale(config.key_dim));
        };
        x = pre_norm_layer(parts, x, attention,
                           [](Parts& p, ValueId in) { return p.gated_ffn(in, Activation::silu); });
    }
    return std::move(parts).finish(x);
}

}  // namespace takt
