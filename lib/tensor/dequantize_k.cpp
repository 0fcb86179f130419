// Super-blocks of 256: the k types, groups with scales of their own, and the ternary types.
#include "tensor/dequantize.h"
#include "tensor/dequantize_block.h"

namespace takt {
namespace {

struct GroupScale {
    float scale;
    float minimum;
};

// Groups 0..3 keep six bits of scale in bytes 0..3 and of minimum in bytes 4..7. Groups 4..7 keep the low
// four bits in bytes 8..11 (scale in the low nibble) and the two high ones on top of bytes 0..3 and 4..7.
void unpack_scales(const uint8_t (&packed)[12], float d, float min, GroupScale (&out)[8]) {
    for (int g = 0; g < 4; ++g) {
        out[g] = {d * static_cast<float>(packed[g] & 63), min * static_cast<float>(packed[g + 4] & 63)};
        const int scale = (packed[g + 8] & 15) | (packed[g] >> 6) << 4;
        const int minimum = (packed[g + 8] >> 4) | (packed[g + 4] >> 6) << 4;
        out[g + 4] = {d * static_cast<float>(scale), min * static_cast<float>(minimum)};
    }
}

}  // namespace

void dequantize_block(const BlockQ2K& block, float* out) {
    const float d = f16_to_f32(block.d), min = f16_to_f32(block.min);
    for (int g = 0; g < 16; ++g) {
        const float scale = d * static_cast<float>(block.scales[g] & 15);
        const float minimum = min * static_cast<float>(block.scales[g] >> 4);
        const uint8_t* pairs = block.pairs + g / 8 * 32 + g % 2 * 16;
        const int shift = g % 8 / 2 * 2;
        for (int i = 0; i < 16; ++i)
            out[g * 16 + i] = scale * static_cast<float>(pairs[i] >> shift & 3) - minimum;
    }
}

void unpack_scales(const uint8_t (&packed)[12], int8_t (&out)[16]) {
    for (int g = 0; g < 16; ++g) {
        const int low = packed[g % 8] >> g / 8 * 4 & 15, high = packed[8 + g % 4] >> g / 4 * 2 & 3;
        out[g] = static_cast<int8_t>((low | high << 4) - 32);
    }
}

void q3k_values(const BlockQ3K& block, int8_t* out) {
    for (int run = 0; run < 8; ++run, out += 32) {
        const uint8_t* pairs = block.pairs + run / 4 * 32;
        for (int i = 0; i < 32; ++i) {
            const int low = pairs[i] >> run % 4 * 2 & 3, high = block.high_bits[i] >> run & 1;
            out[i] = static_cast<int8_t>(low + 4 * high - 4);
        }
    }
}

void dequantize_block(const BlockQ3K& block, float* out) {
    int8_t scales[16];
    unpack_scales(block.scales, scales);
    const float d = f16_to_f32(block.d);
    int8_t values[256];
    q3k_values(block, values);
    for (int i = 0; i < 256; ++i)
        out[i] = d * static_cast<float>(scales[i / 16]) * static_cast<float>(values[i]);
}

void dequantize_block(const BlockQ4K& block, float* out) {
    GroupScale groups[8];
    unpack_scales(block.scales, f16_to_f32(block.d), f16_to_f32(block.min), groups);
    for (int g = 0; g < 8; ++g) {
        const uint8_t* nibbles = block.nibbles + g / 2 * 32;
        const int shift = g % 2 * 4;
        for (int i = 0; i < 32; ++i) {
            out[g * 32 + i] =
                groups[g].scale * static_cast<float>(nibbles[i] >> shift & 15) - groups[g].minimum;
        }
    }
}

void dequantize_block(const BlockQ5K& block, float* out) {
    GroupScale groups[8];
    unpack_scales(block.scales, f16_to_f32(block.d), f16_to_f32(block.min), groups);
    for (int g = 0; g < 8; ++g) {
        const uint8_t* nibbles = block.nibbles + g / 2 * 32;
        const int shift = g % 2 * 4;
        for (int i = 0; i < 32; ++i) {
            const int value = (nibbles[i] >> shift & 15) | (block.high_bits[i] >> g & 1) << 4;
            out[g * 32 + i] = groups[g].scale * static_cast<float>(value) - groups[g].minimum;
        }
    }
}

// A half of 128 elements is four runs of 32: runs 0 and 1 are the low nibbles of 64 bytes, runs 2 and 3 the
// high ones; run r takes bits 2r and 2r + 1 of the half's 32 bytes of high bits.
void dequantize_block(const BlockQ6K& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int half = 0; half < 2; ++half) {
        for (int run = 0; run < 4; ++run) {
            const uint8_t* nibbles = block.nibbles + half * 64 + run % 2 * 32;
            const uint8_t* high_bits = block.high_bits + half * 32;
            const int8_t* scales = block.scales + half * 8 + run * 2;
            for (int i = 0; i < 32; ++i) {
                const int value = (nibbles[i] >> run / 2 * 4 & 15) | (high_bits[i] >> run * 2 & 3) << 4;
                out[half * 128 + run * 32 + i] =
                    d * static_cast<float>(scales[i / 16]) * static_cast<float>(value - 32);
            }
        }
    }
}

// The digits of a byte b, a fraction of 256, are what 3 b, 9 b … carry over: the first is the highest.
int ternary_digit(uint8_t byte, int index) {
    constexpr uint8_t kPowers[] = {1, 3, 9, 27, 81};
    const auto fraction = static_cast<uint8_t>(byte * kPowers[index]);
    return (fraction * 3 >> 8) - 1;
}

void ternary_values(const BlockTq1_0& block, int8_t (&out)[256]) {
    int8_t* to = out;
    for (int digit = 0; digit < 5; ++digit) {
        for (int i = 0; i < 32; ++i) *to++ = static_cast<int8_t>(ternary_digit(block.fives[i], digit));
    }
    for (int digit = 0; digit < 5; ++digit) {
        for (int i = 32; i < 48; ++i) *to++ = static_cast<int8_t>(ternary_digit(block.fives[i], digit));
    }
    for (int digit = 0; digit < 4; ++digit) {
        for (int i = 0; i < 4; ++i) *to++ = static_cast<int8_t>(ternary_digit(block.fours[i], digit));
    }
}

void dequantize_block(const BlockTq1_0& block, float* out) {
    int8_t values[256];
    ternary_values(block, values);
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 256; ++i) out[i] = d * static_cast<float>(values[i]);
}

int tq2_value(const BlockTq2_0& block, int i) {
    return (block.pairs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1;
}

void dequantize_block(const BlockTq2_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 256; ++i) out[i] = d * static_cast<float>(tq2_value(block, i));
}

}  // namespace takt
