// What recipes share: tensors found by name with the shape they must have, and the parts most families are
// made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/thread_pool.h"
#include "gguf/gguf_reader.h"
#include "model/hyperparameters.h"
#include "model/model_config.h"
#include "program/builder.h"

namespace takt {

struct Qkv {
    ValueId q, k, v;
};

// Names are those of the current layer ("blk.3.attn_q") once enter_layer was called. The first missing or
// misshapen tensor, or key, is kept and returned by finish().
class Parts {
public:
    Parts(const ModelConfig& config, const GgufFile& file);

    ProgramBuilder& builder() { return builder_; }
    Hyperparameters& keys() { return keys_; }  // what this family alone has
    void enter_layer(uint32_t layer);
    uint32_t layer_index() const { return layer_; }
    const LayerConfig& layer() const { return config_.layers[layer_]; }
    // The key that YaRN, LongRoPE and temperature count from; a mistake if the file doesn't have it.
    uint32_t required_original_context();
    std::string name(std::string_view part) const { return prefix_ + std::string(part); }
    bool has(std::string_view tensor) const { return file_.find_tensor(name(tensor)) != nullptr; }
    void fail(StatusCode code, std::string message);

    // Two dimensions, any type takt reads; with runs, these rows of a tensor of `tensor_rows`.
    WeightId matrix(std::string_view tensor, uint32_t rows, uint32_t columns);
    WeightId matrix_rows(std::string_view tensor, uint32_t rows, uint32_t columns, RowRuns runs,
                         uint32_t tensor_rows);
    // A matrix for each expert, one behind another.
    WeightId expert_matrix(std::string_view tensor, uint32_t rows, uint32_t columns);
    // Taps of a short convolution, [channels][n], float32.
    WeightId taps(std::string_view tensor, uint32_t channels, uint32_t n);
    // One dimension, float32.
    WeightId vector(std::string_view tensor, uint32_t size);
    WeightId optional_vector(std::string_view tensor, uint32_t size);

    ValueId embed();
    ValueId norm(std::string_view part, ValueId in);                          // weight as wide as the row
    ValueId head_norm(std::string_view part, ValueId in, uint32_t head_dim);  // weight one head wide
    enum class Bias { if_present, required };
    ValueId linear(std::string_view part, ValueId in, uint32_t out_width, Bias bias = Bias::if_present);
    ValueId add(std::string_view part, ValueId a, ValueId b) { return builder_.add(name(part), a, b); }

    // attn_q, attn_k and attn_v, or their rows of attn_qkv.
    Qkv qkv(ValueId in, Bias bias = Bias::if_present);
    Qkv head_norms(const Qkv& in);  // attn_q_norm and attn_k_norm, a head wide
    Qkv rotate(const Qkv& in, const RopeOp& rope);
    // Appends this layer's keys and values to the full group or the window's, attends, and projects back to
    // the embedding's width.
    ValueId attend(const Qkv& in, float scale, WeightId sinks = {});

    // ffn_gate and ffn_up, or the halves of a wide ffn_up; ffn_down.
    ValueId gated_ffn(ValueId in, Activation activation);
    // The experts of ffn_gate_inp; ffn_gate_exps and ffn_up_exps or the halves of ffn_gate_up_exps;
    // ffn_down_exps. Biases where the file has them. logits, out, n_used of `routes` are ignored.
    ValueId experts(ValueId in, const RouteOp& routes, Activation activation);
    // The experts where the model has them, with the usual routes; else the dense part.
    ValueId gated_ffn_or_experts(ValueId in, Activation activation);
    // The expert that every row uses: ffn_gate_shexp and so on.
    ValueId shared_expert(ValueId in, uint32_t ffn_dim, Activation activation);
    // The same times the sigmoid of ffn_gate_inp_shexp, one number a row.
    ValueId gated_shared_expert(ValueId in, uint32_t ffn_dim, Activation activation);

    using LayerPart = FunctionRef<ValueId(ValueId normed)>;
    // Every layer as norm, attention, residual, norm, feed-forward, residual.
    ValueId pre_norm_layers(ValueId x, LayerPart attention, LayerPart ffn);

    // Final norm and head on the rows that need them; the head is the embedding where the file has none.
    Result<Program> finish(ValueId last, float logit_scale = 1, std::string_view norm = "output_norm") &&;

private:
    const GgufTensor* find(const std::string& tensor);
    WeightId vocabulary_matrix(std::string_view tensor);
    void check_shape(const GgufTensor& tensor, std::initializer_list<uint64_t> dims);

    const ModelConfig& config_;
    const GgufFile& file_;
    Hyperparameters keys_;
    ProgramBuilder builder_;
    std::string prefix_;
    uint32_t layer_ = 0, full_group_ = 0, window_group_ = 0;
    Status status_;
};

// The usual scale of attention scores.
float attention_scale(uint32_t head_dim);
// The usual routes: the softmax's highest, their weights divided by their sum.
RouteOp softmax_routes(bool normalize = true);
// Where YaRN's bounds lie: rounded to whole pairs, as most families have them, or between.
enum class YarnBounds { whole_pairs, between_pairs };
// Heads of config.key_dim rotated as the file's rope keys say.
RopeOp rope_shape(const ModelConfig& config, RopeStyle style, WeightId factors = {},
                  YarnBounds bounds = YarnBounds::whole_pairs);

}  // namespace takt
