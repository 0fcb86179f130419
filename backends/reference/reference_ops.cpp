// Eigen where it says the product best, plain loops in double elsewhere.
#include "reference/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include <Eigen/Core>

#include "program/rope.h"
#include "tensor/dequantize.h"
#include "tensor/quant_blocks.h"

namespace takt::reference {
namespace {

// The block with this scale, if it gives back the same values.
bool fill_block(std::span<const float> values, uint16_t d, BlockQ8_0& block) {
    const float scale = f16_to_f32(d);
    block.d = d;
    for (size_t i = 0; i < values.size(); ++i) {
        const float q = scale == 0 ? 0 : std::nearbyint(values[i] / scale);
        if (!(q >= -128 && q <= 127) || q * scale != values[i]) return false;
        block.values[i] = static_cast<int8_t>(q);
    }
    return true;
}

// The largest value is an int8 times the scale. takt's own blocks nearly always have it at 127; where the
// scale was too small for all bits of a float16, or another made the block, it is at any other.
BlockQ8_0 block_of(std::span<const float> values) {
    constexpr uint16_t kNan = 0x7e00;
    BlockQ8_0 block{};
    float largest = 0;
    for (const float x : values) largest = std::abs(x) > std::abs(largest) ? x : largest;
    if (largest == 0 && fill_block(values, 0, block)) return block;
    for (int i = 0; i < 128; ++i) {  // 127 down to 1, then 128
        const auto q = static_cast<float>(i == 127 ? 128 : 127 - i);
        for (const float scale : {std::abs(largest) / q, -std::abs(largest) / q}) {
            if (fill_block(values, f32_to_f16(scale), block)) return block;
        }
    }
    BlockQ8_0 broken{};  // a value isn't finite, and so is none of the block's
    broken.d = kNan;
    return broken;
}

}  // namespace

void rms_norm_row(std::span<const float> in, uint32_t group, const float* weight, float epsilon,
                  std::span<float> out) {
    for (size_t start = 0; start < in.size(); start += group) {
        double sum = 0;
        for (uint32_t i = 0; i < group; ++i) sum += static_cast<double>(in[start + i]) * in[start + i];
        const double rms = std::sqrt(sum / group + epsilon);
        for (uint32_t i = 0; i < group; ++i)
            out[start + i] = static_cast<float>(in[start + i] / rms * (weight ? weight[i] : 1.0f));
    }
}

void layer_norm_row(std::span<const float> in, const float* weight, const float* bias, float epsilon,
                    std::span<float> out) {
    const auto n = static_cast<double>(in.size());
    double sum = 0, squares = 0;
    for (const float x : in) sum += x;
    const double mean = sum / n;
    for (const float x : in) squares += (x - mean) * (x - mean);
    const double deviation = std::sqrt(squares / n + epsilon);
    for (size_t i = 0; i < in.size(); ++i)
        out[i] = static_cast<float>((in[i] - mean) / deviation * weight[i] + (bias ? bias[i] : 0.0f));
}

void matmul_block(MatrixView weight, const float* bias, uint32_t first, uint32_t n, const float* in,
                  float* out) {
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> block(weight.data + size_t{first} * weight.columns, n, weight.columns);
    const Eigen::Map<const Eigen::VectorXf> x(in, weight.columns);
    Eigen::Map<Eigen::VectorXf> y(out + first, n);
    y.noalias() = block * x;
    if (bias) y += Eigen::Map<const Eigen::VectorXf>(bias + first, n);
}

void rope_row(const RopeOp& op, const float* factors, uint32_t position, std::span<const float> in,
              std::span<float> out) {
    std::copy(in.begin(), in.end(), out.begin());
    const uint32_t half = op.rotated_dim / 2;
    for (uint32_t i = 0; i < half; ++i) {
        const double angle = position * rope_frequency(op, i, factors ? factors[i] : 1.0);
        const double cosine = std::cos(angle) * op.magnitude, sine = std::sin(angle) * op.magnitude;
        const uint32_t first = op.style == RopeStyle::neox ? i : 2 * i;
        const uint32_t second = op.style == RopeStyle::neox ? i + half : 2 * i + 1;
        for (size_t head = 0; head < in.size(); head += op.head_dim) {
            const double a = in[head + first], b = in[head + second];
            out[head + first] = static_cast<float>(a * cosine - b * sine);
            out[head + second] = static_cast<float>(a * sine + b * cosine);
        }
    }
}

void short_conv_row(MatrixView weight, std::span<const float> in, std::span<float> state,
                    std::span<float> out) {
    const size_t n = in.size(), n_before = weight.columns - 1;
    for (size_t c = 0; c < n; ++c) {
        const float* taps = weight.data + c * weight.columns;
        double sum = 0;
        for (size_t j = 0; j < n_before; ++j) sum += static_cast<double>(taps[j]) * state[j * n + c];
        out[c] = static_cast<float>(sum + static_cast<double>(taps[n_before]) * in[c]);
    }
    std::copy(state.begin() + static_cast<std::ptrdiff_t>(n), state.end(), state.begin());
    std::ranges::copy(in, state.end() - static_cast<std::ptrdiff_t>(n));
}

void gated_recurrence_row(std::span<const float> gate, std::span<const float> in, std::span<float> state) {
    for (size_t i = 0; i < in.size(); ++i) {
        const double keep = 1 / (1 + std::exp(-static_cast<double>(gate[i])));
        state[i] = static_cast<float>(keep * state[i] + (1 - keep) * in[i]);
    }
}

void gated_activation_row(Activation activation, std::span<const float> gate, std::span<const float> up,
                          std::span<float> out) {
    for (size_t i = 0; i < up.size(); ++i)
        out[i] = static_cast<float>(activate(activation, gate[gate.size() == 1 ? 0 : i], up[i]));
}

double position_scale(const PositionScaleOp& op, uint32_t position) {
    return 1 + op.beta * std::log1p(position / op.period);
}

void soft_cap_row(float cap, std::span<const float> in, std::span<float> out) {
    for (size_t i = 0; i < in.size(); ++i)
        out[i] = static_cast<float>(cap * std::tanh(static_cast<double>(in[i]) / cap));
}

void round_kv(DType dtype, std::span<float> row) {
    if (dtype == DType::f32) return;
    if (dtype == DType::f16) {
        for (float& x : row) x = f16_to_f32(f32_to_f16(x));
        return;
    }
    for (size_t start = 0; start < row.size(); start += kSmallBlock) {
        const std::span<float> block = row.subspan(start, kSmallBlock);
        float largest = 0;
        for (const float x : block) largest = std::max(largest, std::abs(x));
        const float scale = f16_to_f32(f32_to_f16(largest / 127));
        const bool finite = std::ranges::all_of(block, [](float x) { return std::isfinite(x); });
        for (float& x : block) {
            if (!finite) x = std::numeric_limits<float>::quiet_NaN();
            // + 0: an int8 knows no negative zero.
            if (scale > 0 && finite)
                x = (std::clamp(std::nearbyint(x * (1 / scale)), -127.0f, 127.0f) + 0.0f) * scale;
            if (scale == 0) x = 0;
        }
    }
}

void pack_kv(DType dtype, std::span<const float> row, std::span<std::byte> out) {
    if (dtype == DType::f32) {
        std::memcpy(out.data(), row.data(), row.size_bytes());
    } else if (dtype == DType::f16) {
        for (size_t i = 0; i < row.size(); ++i) {
            const uint16_t half = f32_to_f16(row[i]);
            std::memcpy(out.data() + i * sizeof half, &half, sizeof half);
        }
    } else {
        for (size_t i = 0; i < row.size() / kSmallBlock; ++i) {
            const BlockQ8_0 block = block_of(row.subspan(i * kSmallBlock, kSmallBlock));
            std::memcpy(out.data() + i * sizeof block, &block, sizeof block);
        }
    }
}

void softmax(std::span<double> scores) {
    const double highest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - highest);
    for (double& score : scores) score /= sum;
}

double dot(const float* a, const float* b, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

}  // namespace takt::reference
