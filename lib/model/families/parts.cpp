// Tensor look-ups and shared parts of recipes.
#include "model/families/parts.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace takt {
namespace {

// In the file's own order: columns first.
std::string shape_text(const GgufTensor& tensor) {
    return fmt::format("[{}]", fmt::join(tensor.dims, tensor.dims + std::min(tensor.n_dims, 4u), ", "));
}

}  // namespace

Parts::Parts(const ModelConfig& config, const GgufFile& file)
    : config_(config), file_(file), builder_(config.family, config.vocab_size) {}

void Parts::enter_layer(uint32_t layer) {
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

void Parts::check_shape(const GgufTensor& tensor, uint64_t columns, uint64_t rows) {
    const bool fits = tensor.n_dims >= 1 && tensor.dims[0] == columns && tensor.dims[1] == rows &&
                      tensor.dims[2] == 1 && tensor.dims[3] == 1;
    if (fits) return;
    const std::string wanted =
        rows == 1 ? fmt::format("[{}]", columns) : fmt::format("[{}, {}]", columns, rows);
    fail(StatusCode::model_invalid,
         fmt::format("Tensor {} has shape {}, must be {}.", tensor.name, shape_text(tensor), wanted));
}

WeightId Parts::matrix(std::string_view tensor, uint32_t rows, uint32_t columns) {
    const GgufTensor* found = find(name(tensor));
    if (!found) return {};
    check_shape(*found, columns, rows);
    return builder_.weight(found->name, found->dtype, rows, columns);
}

WeightId Parts::vector(std::string_view tensor, uint32_t size) {
    const GgufTensor* found = find(name(tensor));
    if (!found) return {};
    check_shape(*found, size, 1);
    if (found->dtype != DType::f32) {
        fail(StatusCode::model_unsupported,
             fmt::format("Tensor {} has type {}, must be f32.", found->name, dtype_info(found->dtype).name));
    }
    return builder_.weight(found->name, found->dtype, 1, size);
}

WeightId Parts::optional_vector(std::string_view tensor, uint32_t size) {
    return file_.find_tensor(name(tensor)) ? vector(tensor, size) : WeightId{};
}

// Embedding or head: a row per token, and perhaps rows of padding behind, which the program leaves out.
WeightId Parts::vocabulary_matrix(std::string_view tensor) {
    const GgufTensor* found = find(std::string(tensor));
    if (!found) return {};
    if (found->dims[1] < config_.vocab_size) {
        fail(StatusCode::model_invalid, fmt::format("Tensor {} has {} rows, the vocabulary has {} tokens.",
                                                    found->name, found->dims[1], config_.vocab_size));
    }
    check_shape(*found, config_.embedding_dim, found->dims[1]);
    return builder_.weight(found->name, found->dtype, config_.vocab_size, config_.embedding_dim);
}

ValueId Parts::embed() {
    return builder_.embed("embed", vocabulary_matrix("token_embd.weight"));
}

ValueId Parts::norm(std::string_view part, ValueId in) {
    return head_norm(part, in, config_.embedding_dim);
}

ValueId Parts::head_norm(std::string_view part, ValueId in, uint32_t head_dim) {
    return builder_.rms_norm(name(part), in, vector(std::string(part) + ".weight", head_dim),
                             config_.rms_epsilon);
}

ValueId Parts::linear(std::string_view part, ValueId in, uint32_t out_width, Bias bias) {
    const std::string weight_name = std::string(part) + ".weight", bias_name = std::string(part) + ".bias";
    const WeightId weight = matrix(weight_name, out_width, builder_.width(in));
    return builder_.matmul(
        name(part), in, weight,
        bias == Bias::required ? vector(bias_name, out_width) : optional_vector(bias_name, out_width));
}

ValueId Parts::attend(uint32_t group, ValueId query, ValueId keys, ValueId values, float scale) {
    const StateId state =
        builder_.kv_state(name("kv"), group, config_.n_kv_heads, config_.key_dim, config_.value_dim);
    builder_.kv_append(keys, values, state);
    const ValueId attended = builder_.attention(name("attention"), query, state, config_.n_heads, scale,
                                                config_.attention_soft_cap);
    return linear("attn_output", attended, config_.embedding_dim);
}

ValueId Parts::gated_ffn(ValueId in, Activation activation) {
    const ValueId gate = linear("ffn_gate", in, config_.ffn_dim);
    const ValueId up = linear("ffn_up", in, config_.ffn_dim);
    return linear("ffn_down", builder_.gated_activation(name("ffn_gated"), gate, up, activation),
                  config_.embedding_dim);
}

Result<Program> Parts::finish(ValueId last) && {
    prefix_.clear();
    const ValueId hidden = norm("output_norm", builder_.select_rows("selected", last));
    const bool has_head = file_.find_tensor("output.weight") != nullptr;
    ValueId logits = builder_.matmul("output", hidden,
                                     vocabulary_matrix(has_head ? "output.weight" : "token_embd.weight"));
    if (config_.final_soft_cap > 0)
        logits = builder_.soft_cap("output_capped", logits, config_.final_soft_cap);
    TAKT_RETURN_IF_ERROR(status_);
    return std::move(builder_).finish(hidden, logits);
}

float attention_scale(uint32_t head_dim) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
}

RopeOp rope_shape(const ModelConfig& config, RopeStyle style, float base, float frequency_scale,
                  WeightId factors) {
    return {{}, {}, config.key_dim, config.rope_rotated_dim, style, base, frequency_scale, factors};
}

}  // namespace takt
