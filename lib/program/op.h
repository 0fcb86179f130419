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

// out = in / rms(in) * weight, over groups of the weight's length (a group per head where the weight is one
// head wide).
struct RmsNormOp {
    ValueId in;
    WeightId weight;
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
// Rotates the first rotated_dim of every head_dim floats by position * frequency.
// frequency_i = base^(-2i / rotated_dim) * frequency_scale / factors[i] (factors: optional weight of
// rotated_dim / 2 floats).
struct RopeOp {
    ValueId in, out;
    uint32_t head_dim, rotated_dim;
    RopeStyle style;
    float base, frequency_scale;
    WeightId factors;
};

// Appends each row's keys and values to its sequence's pages.
struct KvAppendOp {
    ValueId keys, values;
    StateId state;
};

// Causal attention of each row over its sequence's keys and values up to its own position; in a window group,
// over the last `window` positions alone. out: n_heads * value dim.
struct AttentionOp {
    ValueId query;
    StateId state;
    ValueId out;
    uint32_t n_heads;
    float scale;
    float soft_cap /* 0: none */;
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

enum class Activation : uint8_t { silu, gelu_tanh };
// out = activation(gate) * up
struct GatedActivationOp {
    ValueId gate, up;
    ValueId out;
    Activation activation;
};

struct AddOp {
    ValueId a, b;
    ValueId out;
};
struct ScaleOp {
    ValueId in;
    ValueId out;
    float factor;
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

using Op = std::variant<EmbedOp, RmsNormOp, MatmulOp, RopeOp, KvAppendOp, AttentionOp, ShortConvOp,
                        GatedRecurrenceOp, GatedActivationOp, AddOp, ScaleOp, SoftCapOp, SelectRowsOp>;

std::string_view op_name(const Op& op);

}  // namespace takt
