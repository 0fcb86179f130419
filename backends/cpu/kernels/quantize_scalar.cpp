// Activations to int8 with a scale per 32 values, in plain C++: what the other ISAs must equal bit for bit.
#include <cmath>
#include <cstring>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::scalar {
namespace {

constexpr uint32_t kInfinityBits = 0x7f800000u;
// Below this largest value (2^-100) a block counts as zero: 127 / largest would leave the range of float.
constexpr uint32_t kTinyBits = 0x0d800000u;

uint32_t magnitude_bits(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return bits & 0x7fffffffu;
}

float from_bits(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}

void quantize_row(const float* x, const QuantizedLayout& layout, std::byte* out) {
    auto* values = reinterpret_cast<int8_t*>(out);
    auto* scales = reinterpret_cast<float*>(out + layout.scales_offset);
    auto* scaled_sums = reinterpret_cast<float*>(out + layout.scaled_sums_offset);
    auto* minus_sums = reinterpret_cast<int32_t*>(out + layout.minus_sums_offset);
    auto* minus_half_sums = reinterpret_cast<int32_t*>(out + layout.minus_half_sums_offset);
    for (size_t b = 0; b < layout.n_blocks; ++b, x += kBlockValues, values += kBlockValues) {
        uint32_t largest = 0;  // as bits: NaN > infinity > every finite value
        for (uint32_t i = 0; i < kBlockValues; ++i) {
            const uint32_t bits = magnitude_bits(x[i]);
            largest = bits > largest ? bits : largest;
        }
        const bool usable = largest >= kTinyBits && largest < kInfinityBits;
        const float factor = usable ? 127.0f / from_bits(largest) : 0.0f;
        int32_t sums[2] = {0, 0};
        for (uint32_t i = 0; i < kBlockValues; ++i) {
            const auto q = usable ? static_cast<int32_t>(std::nearbyint(x[i] * factor)) : 0;
            values[i] = static_cast<int8_t>(q);
            sums[i / 16] += q;
        }
        scales[b] = usable ? from_bits(largest) / 127.0f : largest >= kInfinityBits ? NAN : 0.0f;
        scaled_sums[b] = scales[b] * static_cast<float>(sums[0] + sums[1]);
        minus_sums[b] = -(sums[0] + sums[1]);
        minus_half_sums[2 * b] = -sums[0];
        minus_half_sums[2 * b + 1] = -sums[1];
    }
}

}  // namespace

void set_quantize(KernelTable& table) {
    table.quantize_row = quantize_row;
}

}  // namespace takt::cpu::scalar
