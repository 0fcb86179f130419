// Blocks of 32 with a scale of their own, or a scale and a minimum.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "quantize/block_fit.h"
#include "quantize/encode_block.h"
#include "tensor/dequantize.h"

namespace takt {
namespace {

// By a scale as it is stored. q from -half to half - 1.
uint16_t fit_symmetric(const Values& values, int half, int8_t* q) {
    const uint16_t d = f32_to_f16(fit_scale(values, -half, half - 1));
    round_values(values, {f16_to_f32(d), 0}, -half, half - 1, q);
    return d;
}

struct StoredAffine {
    uint16_t d, m;
};
StoredAffine fit_stored(const Values& values, int high, int8_t* q) {
    const Affine fit = fit_affine(values, high, false);
    const StoredAffine stored = {f32_to_f16(fit.scale), f32_to_f16(fit.min)};
    round_values(values, {f16_to_f32(stored.d), f16_to_f32(stored.m)}, 0, high, q);
    return stored;
}

// Elements from 0 to 31, in nibbles and the bits above them.
void store_nibbles(const int8_t* q, int offset, uint8_t (&nibbles)[16], uint32_t& high) {
    high = 0;
    for (uint32_t i = 0; i < 16; ++i) {
        const int first = q[i] + offset, second = q[i + 16] + offset;
        nibbles[i] = static_cast<uint8_t>((first & 15) | (second & 15) << 4);
        high |= static_cast<uint32_t>(first >> 4) << i | static_cast<uint32_t>(second >> 4) << (i + 16);
    }
}

}  // namespace

void encode_block(const float* x, const float* weight, BlockQ4_0& out) {
    int8_t q[kSmallBlock];
    uint32_t high = 0;
    out.d = fit_symmetric({x, weight, kSmallBlock}, 8, q);
    store_nibbles(q, 8, out.nibbles, high);
}

void encode_block(const float* x, const float* weight, BlockQ5_0& out) {
    int8_t q[kSmallBlock];
    uint32_t high = 0;
    out.d = fit_symmetric({x, weight, kSmallBlock}, 16, q);
    store_nibbles(q, 16, out.nibbles, high);
    std::memcpy(out.high_bits, &high, sizeof(high));
}

void encode_block(const float* x, const float* weight, BlockQ4_1& out) {
    int8_t q[kSmallBlock];
    uint32_t high = 0;
    const StoredAffine stored = fit_stored({x, weight, kSmallBlock}, 15, q);
    out.d = stored.d;
    out.m = stored.m;
    store_nibbles(q, 0, out.nibbles, high);
}

void encode_block(const float* x, const float* weight, BlockQ5_1& out) {
    int8_t q[kSmallBlock];
    uint32_t high = 0;
    const StoredAffine stored = fit_stored({x, weight, kSmallBlock}, 31, q);
    out.d = stored.d;
    out.m = stored.m;
    store_nibbles(q, 0, out.nibbles, high);
    std::memcpy(out.high_bits, &high, sizeof(high));
}

// The range decides: a scale that cuts the largest value gains nothing at eight bits.
void encode_block(const float* x, const float* weight, BlockQ8_0& out) {
    float largest = 0;
    for (uint32_t i = 0; i < kSmallBlock; ++i) largest = std::max(largest, std::abs(x[i]));
    out.d = f32_to_f16(largest / 127.0f);
    round_values({x, weight, kSmallBlock}, {f16_to_f32(out.d), 0}, -127, 127, out.values);
}

}  // namespace takt
