// One plain struct per op. Values are rows of float32; a value's width is its number of floats per row.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

namespace takt {

struct ValueId {
    uint32_t index = ~0u;
    bool valid() const { return index != ~0u; }
    bool operator==(const ValueId&) const = default;
};
struct WeightId {
    uint32_t index = ~0u;
    bool valid() const { return index != ~0u; }
    bool operator==(const WeightId&) const = default;
};
struct StateId {
    uint32_t index = ~0u;
    bool operator==(const StateId&) const = default;
};
struct RecurrentStateId {
    uint32_t index = ~0u;
    bool operator==(const RecurrentStateId&) const = default;
};

// Rows of token ids to rows of the table.
struct EmbedOp {
    WeightId table;
    ValueId out;
};

// Rows of the table by each row's position.
struct PositionEmbedOp {
    WeightId table;
    ValueId out;
};

// out = in / rms(in) * weight, over groups of `group` floats (a head's, or the whole row). weight: that many
// floats, or none.
struct RmsNormOp {
    ValueId in;
    WeightId weight;
    ValueId out;
    float epsilon;
    uint32_t group;
};

// out = (in - mean(in)) / deviation(in) * weight + bias
struct LayerNormOp {
    ValueId in;
    WeightId weight, bias;
    ValueId out;
    float epsilon;
};

// out = weight * in (+ bias). weight is [rows = width of out][columns = width of in]. adapter_slot names the
// place a low-rank adapter would attach to.
struct MatmulOp {
    ValueId in;
    WeightId weight;
    WeightId bias;
    ValueId out;
    uint32_t adapter_slot;
};

enum class RopeStyle : uint8_t {
    interleaved /* pairs (2i, 2i+1) */,
    neox /* pairs (i, i + rotated_dim / 2) */
};
// Rotates the first rotated_dim of every head_dim floats by position * frequency, and multiplies them by
// magnitude. frequency_i = base^(-2i / rotated_dim) * frequency_scale / factors[i] (factors: optional weight
// of rotated_dim / 2 floats). Contexts longer than short_context take long_factors instead (LongRoPE). Where
// ramp_end > 0 (YaRN), frequency_scale applies in full from pair ramp_end on, not at all up to ramp_begin,
// and in between by parts. The op is the same for every sequence of an engine: what counts is the context
// that the engine is made for.
struct RopeOp {
    ValueId in, out;
    uint32_t head_dim = 0, rotated_dim = 0;
    RopeStyle style{};
    float base = 0, frequency_scale = 1;
    WeightId factors{}, long_factors{};
    uint32_t short_context = 0;
    float ramp_begin = 0, ramp_end = 0;
    float magnitude = 1;
};

// out = in * (1 + beta * ln(1 + floor(position / period))): queries that look far back weigh more.
struct PositionScaleOp {
    ValueId in, out;
    float beta;
    uint32_t period;
};

// Appends each row's keys and values to its sequence's pages.
struct KvAppendOp {
    ValueId keys, values;
    StateId state;
};

// Attention of each row over its sequence's keys and values up to its own position; in a window group, over
// the last `window` positions alone. Several ops may read one state. out: n_heads * value dim. sinks:
// optional weight of n_heads floats, a score of each head that takes part in the softmax and has no value.
// bidirectional: of each row over all rows of its sequence in this step, which must hold the sequence from
// its first position on; a window then reaches window / 2 to both sides.
struct AttentionOp {
    ValueId query;
    StateId state;
    ValueId out;
    uint32_t n_heads;
    float scale;
    float soft_cap = 0 /* none */;
    WeightId sinks{};
    bool bidirectional = false;
};

// A causal convolution along each channel's own positions: out = sum over j of weight[channel][j] * in at
// position - (taps - 1) + j, zeros before position 0. weight is [channels = width of in][taps], float32.
// The state holds the last taps - 1 inputs, [taps - 1][channels], oldest first.
struct ShortConvOp {
    ValueId in;
    WeightId weight;
    RecurrentStateId state;
    ValueId out;
};

// The gated linear recurrence of minimal GRUs, elementwise: out = f * (out of the position before, zeros
// before position 0) + (1 - f) * in, where f = sigmoid(gate). The state holds the last output.
struct GatedRecurrenceOp {
    ValueId gate, in;
    RecurrentStateId state;
    ValueId out;
};

// The gated delta rule, head by head of the values. Of a row, q and k are those of key head h % n_key_heads,
// each divided by sqrt(its sum of squares + epsilon), q by sqrt(key_dim) too:
//   S = exp(rate[h] * softplus(decay[h] + decay_bias[h])) * S before (zeros before position 0)
//   S = S + k (sigmoid(beta[h]) * (v - S^T k))^T
//   out = S^T q
// qkv holds queries, keys (n_key_heads * key_dim each) and values (n_value_heads * value_dim) one behind
// another; decay and beta are n_value_heads wide. The state holds S of each head,
// [n_value_heads][key_dim][value_dim].
struct GatedDeltaOp {
    ValueId qkv, decay, beta;
    WeightId rate, decay_bias;
    RecurrentStateId state;
    ValueId out;
    uint32_t n_key_heads, n_value_heads, key_dim, value_dim;
    float epsilon;
};

// gelu: with the error function. none: the value itself. swiglu_clamped: min(gate, 7) * sigmoid(1.702 *
// that), times up clamped to [-7, 7] plus 1.
enum class Activation : uint8_t { silu, gelu_tanh, gelu, sigmoid, none, swiglu_clamped };
// out = activation(gate) * up. The gate is as wide as up, or one float for all of a row.
struct GatedActivationOp {
    ValueId gate, up;
    ValueId out;
    Activation activation;
};
struct ActivationOp {
    ValueId in;
    ValueId out;
    Activation activation;
};

// Which experts a row goes to. Scores are the softmax or sigmoid of the logits; the n_used highest of score
// (+ selection_bias, which counts for the choice alone) are taken, the lower index of equal ones. Their
// weights are the scores, where normalize is set divided by their sum, times factor, times expert_scale of
// the expert. out: n_used indices of experts, highest first, then n_used weights.
enum class RouteScores : uint8_t { softmax, sigmoid };
struct RouteOp {
    ValueId logits;
    ValueId out;
    WeightId selection_bias, expert_scale;
    uint32_t n_used;
    RouteScores scores;
    bool normalize;
    float factor;
};

// out = sum over the row's experts e of weight * (down[e] * (activation(gate[e] * in + bias) * (up[e] * in +
// bias)) + bias). gate and up are [n_experts * ffn][width of in], down [n_experts * width of out][ffn],
// expert after expert; the biases are [n_experts][ffn] and [n_experts][width of out].
struct ExpertFfnOp {
    ValueId in, routes;
    WeightId gate, up, down;
    WeightId gate_bias, up_bias, down_bias;
    ValueId out;
    uint32_t n_experts;
    Activation activation;
};

struct AddOp {
    ValueId a, b;
    ValueId out;
};
// out = in * factor * by; by: optional weight of one float, or as wide as the row.
struct ScaleOp {
    ValueId in;
    ValueId out;
    float factor;
    WeightId by;
};
// out = in + weight, as wide as the row.
struct AddWeightOp {
    ValueId in;
    WeightId weight;
    ValueId out;
};
// Floats [first, first + width of out) of each row.
struct SliceOp {
    ValueId in;
    ValueId out;
    uint32_t first;
};
// out = cap * tanh(in / cap)
struct SoftCapOp {
    ValueId in;
    ValueId out;
    float cap;
};
// Token rows to output rows: those for which the step batch wants something.
struct SelectRowsOp {
    ValueId in;
    ValueId out;
};

using Op = std::variant<EmbedOp, PositionEmbedOp, RmsNormOp, LayerNormOp, MatmulOp, RopeOp, PositionScaleOp,
                        KvAppendOp, AttentionOp, ShortConvOp, GatedRecurrenceOp, GatedDeltaOp,
                        GatedActivationOp, ActivationOp, RouteOp, ExpertFfnOp, AddOp, AddWeightOp, ScaleOp,
                        SliceOp, SoftCapOp, SelectRowsOp>;

std::string_view op_name(const Op& op);
std::string_view activation_name(Activation activation);

}  // namespace takt
