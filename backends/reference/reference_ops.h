// The arithmetic of every op on plain float rows. Where a rounding matters, double carries it: norms,
// softmax, angles, activations. No function looks at more than the rows it is given, so a row's bits never
// depend on its neighbours.
#pragma once

#include <cstdint>
#include <span>

#include "program/op.h"
#include "tensor/dtype.h"

namespace takt::reference {

// weight: `group` floats, or nullptr.
void rms_norm_row(std::span<const float> in, uint32_t group, const float* weight, float epsilon,
                  std::span<float> out);
// bias may be nullptr.
void layer_norm_row(std::span<const float> in, const float* weight, const float* bias, float epsilon,
                    std::span<float> out);

// Output rows [first, first + n) of weight [rows][columns], for one row of input.
struct MatrixView {
    const float* data;
    uint32_t rows, columns;
};
void matmul_block(MatrixView weight, const float* bias, uint32_t first, uint32_t n, const float* in,
                  float* out);

// factors: those of the engine's context, or nullptr.
void rope_row(const RopeOp& op, const float* factors, uint32_t position, std::span<const float> in,
              std::span<float> out);

// state: the inputs before, and the same with this one when done.
void short_conv_row(MatrixView weight, std::span<const float> in, std::span<float> state,
                    std::span<float> out);
// state: the output before, and this one's when done.
void gated_recurrence_row(std::span<const float> gate, std::span<const float> in, std::span<float> state);

// state: S of each head before, and behind this row when done.
struct DeltaRow {
    std::span<const float> qkv, decay, beta;
    const float *rate, *decay_bias;
};
void gated_delta_row(const GatedDeltaOp& op, const DeltaRow& row, std::span<float> state,
                     std::span<float> out);

double activate(Activation activation, double gate, double up);
// gate: as many floats as up, or one.
void gated_activation_row(Activation activation, std::span<const float> gate, std::span<const float> up,
                          std::span<float> out);

// selection_bias and expert_scale: a float an expert, or nullptr.
void route_row(const RouteOp& op, std::span<const float> logits, const float* selection_bias,
               const float* expert_scale, std::span<float> out);

double position_scale(const PositionScaleOp& op, uint32_t position);

void soft_cap_row(float cap, std::span<const float> in, std::span<float> out);

// Keys or values to what pages of this type keep of them, in place; f32 keeps everything.
void round_kv(DType dtype, std::span<float> row);
// What such pages hold of a row that round_kv() has been over, or that came out of such bytes: as many as the
// type takes, and the values that it reads as are those of the row.
void pack_kv(DType dtype, std::span<const float> row, std::span<std::byte> out);

// Scores to weights that sum to 1, in place.
void softmax(std::span<double> scores);

double dot(const float* a, const float* b, uint32_t n);

}  // namespace takt::reference
