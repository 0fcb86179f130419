// Tensor look-ups, and the parts of attention.
#include "model/families/parts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace takt {
namespace {

constexpr size_t kMostDims = 4;

}  // namespace

Parts::Parts(const ModelConfig& config, const GgufFile& file)
    : config_(config),
      file_(file),
      keys_(file, config.family),
      builder_(config.family, config.vocab_size),
      full_group_(builder_.group("full", 0)),
      window_group_(config.window_tokens > 0 ? builder_.group("window", config.window_tokens) : full_group_) {
}

void Parts::enter_layer(uint32_t layer) {
    layer_ = layer;
    prefix_ = fmt::format("blk.{}.", layer);
}

void Parts::fail(StatusCode code, std::string message) {
    if (status_.ok()) status_ = Status(code, std::move(message));
}

const GgufTensor* Parts::find(const std::string& tensor) {
    const GgufTensor* found = file_.find_tensor(tensor);
    if (!found) fail(StatusCode::model_invalid, fmt::format("Tensor {} is missing.", tensor));
    return found;
}

// dims in the file's own order: columns first.
void Parts::check_shape(const GgufTensor& tensor, std::initializer_list<uint64_t> dims) {
    bool fits = tensor.n_dims >= 1;
    for (size_t i = 0; i < kMostDims; ++i)
        fits = fits && tensor.dims[i] == (i < dims.size() ? dims.begin()[i] : 1);
    if (fits) return;
    const std::span<const uint64_t> wanted(dims.begin(),
                                           dims.size() == 2 && dims.begin()[1] == 1 ? 1 : dims.size());
    fail(StatusCode::model_invalid,
         fmt::format("Tensor {} has shape [{}], must be [{}].", tensor.name,
                     fmt::join(tensor.dims, tensor.dims + std::min<size_t>(tensor.n_dims, kMostDims), ", "),
                     fmt::join(wanted, ", ")));
}

WeightId Parts::matrix(std::string_view tensor, uint32_t rows, uint32_t columns) {
    return matrix_rows(tensor, rows, columns, {}, rows);
}

WeightId Parts::matrix_rows(std::string_view tensor, uint32_t rows, uint32_t columns, RowRuns runs,
                            uint32_t tensor_rows) {
    const GgufTensor* found = find(name(tensor));
    if (!found) return {};
    check_shape(*found, {columns, tensor_rows});
    return builder_.weight(found->name, found->dtype, rows, columns, runs);
}

WeightId Parts::expert_matrix(std::string_view tensor, uint32_t rows, uint32_t columns) {
    const GgufTensor* found = find(name(tensor));
    if (!found) return {};
    check_shape(*found, {columns, rows, config_.n_experts});
    return builder_.weight(found->name, found->dtype, rows * config_.n_experts, columns);
}

WeightId Parts::taps(std::string_view tensor, uint32_t channels, uint32_t n) {
    const WeightId weight = matrix(tensor, channels, n);
    if (const GgufTensor* found = file_.find_tensor(name(tensor)); found && found->dtype != DType::f32) {
        fail(StatusCode::model_unsupported,
             fmt::format("Tensor {} has type {}, must be f32.", found->name, dtype_info(found->dtype).name));
    }
    return weight;
}

WeightId Parts::vector(std::string_view tensor, uint32_t size) {
    const GgufTensor* found = find(name(tensor));
    if (!found) return {};
    check_shape(*found, {size});
    if (found->dtype != DType::f32) {
        fail(StatusCode::model_unsupported,
             fmt::format("Tensor {} has type {}, must be f32.", found->name, dtype_info(found->dtype).name));
    }
    return builder_.weight(found->name, found->dtype, 1, size);
}

WeightId Parts::optional_vector(std::string_view tensor, uint32_t size) {
    return has(tensor) ? vector(tensor, size) : WeightId{};
}

// Embedding or head: a row per token, and perhaps rows of padding behind, which the program leaves out.
WeightId Parts::vocabulary_matrix(std::string_view tensor) {
    const GgufTensor* found = find(std::string(tensor));
    if (!found) return {};
    if (found->dims[1] < config_.vocab_size) {
        fail(StatusCode::model_invalid, fmt::format("Tensor {} has {} rows, the vocabulary has {} tokens.",
                                                    found->name, found->dims[1], config_.vocab_size));
    }
    check_shape(*found, {config_.embedding_dim, found->dims[1]});
    return builder_.weight(found->name, found->dtype, config_.vocab_size, config_.embedding_dim);
}

ValueId Parts::embed() {
    return builder_.embed("embed", vocabulary_matrix("token_embd.weight"));
}

ValueId Parts::norm(std::string_view part, ValueId in) {
    return head_norm(part, in, builder_.width(in));
}

ValueId Parts::head_norm(std::string_view part, ValueId in, uint32_t head_dim) {
    return builder_.rms_norm(name(part), in, vector(std::string(part) + ".weight", head_dim),
                             config_.norm_epsilon);
}

ValueId Parts::linear(std::string_view part, ValueId in, uint32_t out_width, Bias bias) {
    const std::string weight_name = std::string(part) + ".weight", bias_name = std::string(part) + ".bias";
    const WeightId weight = matrix(weight_name, out_width, builder_.width(in));
    return builder_.matmul(
        name(part), in, weight,
        bias == Bias::required ? vector(bias_name, out_width) : optional_vector(bias_name, out_width));
}

Qkv Parts::qkv(ValueId in, Bias bias) {
    const uint32_t q = layer().n_heads * config_.key_dim, k = layer().n_kv_heads * config_.key_dim,
                   v = layer().n_kv_heads * config_.value_dim;
    if (!has("attn_qkv.weight"))
        return {linear("attn_q", in, q, bias), linear("attn_k", in, k, bias), linear("attn_v", in, v, bias)};
    if (has("attn_qkv.bias"))
        fail(StatusCode::model_unsupported,
             fmt::format("Tensor {} is there, takt runs fused queries, keys and values without a bias.",
                         name("attn_qkv.bias")));
    const auto part = [&](std::string_view part_name, uint32_t first, uint32_t rows) {
        return builder_.matmul(
            name(part_name), in,
            matrix_rows("attn_qkv.weight", rows, builder_.width(in), {first, 0, 0}, q + k + v));
    };
    return {part("attn_q", 0, q), part("attn_k", q, k), part("attn_v", q + k, v)};
}

Qkv Parts::head_norms(const Qkv& in) {
    return {head_norm("attn_q_norm", in.q, config_.key_dim), head_norm("attn_k_norm", in.k, config_.key_dim),
            in.v};
}

Qkv Parts::rotate(const Qkv& in, const RopeOp& rope) {
    return {builder_.rope(name("q_rope"), in.q, rope), builder_.rope(name("k_rope"), in.k, rope), in.v};
}

ValueId Parts::attend(const Qkv& in, float scale, WeightId sinks) {
    const StateId state = builder_.kv_state(name("kv"), layer().windowed ? window_group_ : full_group_,
                                            layer().n_kv_heads, config_.key_dim, config_.value_dim);
    builder_.kv_append(in.k, in.v, state);
    const ValueId attended = builder_.attention(
        name("attention"),
        {in.q, state, {}, layer().n_heads, scale, config_.attention_soft_cap, sinks, false});
    return linear("attn_output", attended, config_.embedding_dim);
}

ValueId Parts::pre_norm_layers(ValueId x, LayerPart attention, LayerPart ffn) {
    for (uint32_t layer = 0; layer < config_.n_layers; ++layer) {
        enter_layer(layer);
        x = add("attn_residual", x, attention(norm("attn_norm", x)));
        x = add("ffn_residual", x, ffn(norm("ffn_norm", x)));
    }
    return x;
}

uint32_t Parts::required_original_context() {
    if (config_.rope_scaling.original_context == 0) {
        fail(StatusCode::model_invalid,
             fmt::format("{} is missing.", keys_.key("rope.scaling.original_context_length")));
    }
    return config_.rope_scaling.original_context;
}

Result<Program> Parts::finish(ValueId last, float logit_scale, std::string_view final_norm) && {
    prefix_.clear();
    const ValueId hidden = norm(final_norm, builder_.select_rows("selected", last));
    const bool has_head = file_.find_tensor("output.weight") != nullptr;
    ValueId logits =
        builder_.matmul("output", hidden, vocabulary_matrix(has_head ? "output.weight" : "token_embd.weight"),
                        has_head ? optional_vector("output.bias", config_.vocab_size) : WeightId{});
    if (logit_scale != 1) logits = builder_.scale("output_scaled", logits, logit_scale);
    if (config_.final_soft_cap > 0)
        logits = builder_.soft_cap("output_capped", logits, config_.final_soft_cap);
    TAKT_RETURN_IF_ERROR(keys_.status());
    TAKT_RETURN_IF_ERROR(status_);
    return std::move(builder_).finish(hidden, logits);
}

float attention_scale(uint32_t head_dim) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
}

}  // namespace takt
