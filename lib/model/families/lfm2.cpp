// LFM2 and LFM2.5: short convolutions between two gates in most layers, attention with norms on heads in a
// few; lfm2moe has experts behind the first layers.
#include "model/families/parts.h"
#include "model/families/recipes.h"

namespace takt {
namespace {

// in_proj gives a gate before the convolution, one behind it, and what is convolved.
ValueId short_conv(Parts& p, ValueId in, uint32_t width, uint32_t n_taps, uint32_t group) {
    ProgramBuilder& b = p.builder();
    const auto third = [&](std::string_view part, uint32_t index) {
        return b.matmul(
            p.name(part), in,
            p.matrix_rows("shortconv.in_proj.weight", width, width, {index * width, 0, 0}, 3 * width));
    };
    const ValueId before = third("conv_before", 0), behind = third("conv_behind", 1), x = third("conv_in", 2);
    const ValueId gated = b.gated_activation(p.name("conv_gated"), before, x, Activation::none);
    const RecurrentStateId state = b.recurrent_state(p.name("conv"), group, (n_taps - 1) * width);
    const ValueId convolved =
        b.short_conv(p.name("shortconv"), gated, p.taps("shortconv.conv.weight", width, n_taps), state);
    return p.linear("shortconv.out_proj",
                    b.gated_activation(p.name("conv_out"), behind, convolved, Activation::none), width);
}

}  // namespace

Result<Program> build_lfm2(const ModelConfig& config, const GgufFile& file) {
    Parts parts(config, file);
    const uint32_t n_taps = parts.keys().required("shortconv.l_cache", {2, 1024});
    const uint32_t n_dense = parts.keys().optional("leading_dense_block_count", 0, {0, config.n_layers});
    RouteOp routes = softmax_routes();
    routes.scores = RouteScores::sigmoid;
    const uint32_t conv_group = parts.builder().recurrent_group("recurrent");
    const RopeOp rope = rope_shape(config, RopeStyle::neox);
    const std::string_view final_norm =
        parts.has("token_embd_norm.weight") ? "token_embd_norm" : "output_norm";
    const auto mix = [&](ValueId in) {
        if (parts.layer().n_kv_heads == 0)
            return short_conv(parts, in, config.embedding_dim, n_taps, conv_group);
        return parts.attend(parts.rotate(parts.head_norms(parts.qkv(in)), rope),
                            attention_scale(config.key_dim));
    };
    const auto ffn = [&](ValueId in) {
        if (config.n_experts == 0 || parts.layer_index() < n_dense)
            return parts.gated_ffn(in, Activation::silu);
        routes.selection_bias = parts.optional_vector("exp_probs_b.bias", config.n_experts);
        return parts.experts(in, routes, Activation::silu);
    };
    return std::move(parts).finish(parts.pre_norm_layers(parts.embed(), mix, ffn), 1, final_norm);
}

}  // namespace takt
