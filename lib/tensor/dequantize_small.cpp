// Blocks of 16 to 128 elements: one scale each, or one for 16 elements.
#include <bit>

#include "tensor/dequantize.h"
#include "tensor/dequantize_block.h"

namespace takt {
namespace {

// The five bits above the nibbles, as one word.
uint32_t high_word(const uint8_t (&bytes)[4]) {
    return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

}  // namespace

void dequantize_block(const BlockQ4_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 16; ++i) {
        out[i] = static_cast<float>((block.nibbles[i] & 15) - 8) * d;
        out[i + 16] = static_cast<float>((block.nibbles[i] >> 4) - 8) * d;
    }
}

void dequantize_block(const BlockQ4_1& block, float* out) {
    const float d = f16_to_f32(block.d);
    const float m = f16_to_f32(block.m);
    for (int i = 0; i < 16; ++i) {
        out[i] = static_cast<float>(block.nibbles[i] & 15) * d + m;
        out[i + 16] = static_cast<float>(block.nibbles[i] >> 4) * d + m;
    }
}

void dequantize_block(const BlockQ5_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    const uint32_t high = high_word(block.high_bits);
    for (int i = 0; i < 16; ++i) {
        const int low_element = (block.nibbles[i] & 15) | static_cast<int>(high >> i & 1) << 4;
        const int high_element = (block.nibbles[i] >> 4) | static_cast<int>(high >> (i + 16) & 1) << 4;
        out[i] = static_cast<float>(low_element - 16) * d;
        out[i + 16] = static_cast<float>(high_element - 16) * d;
    }
}

void dequantize_block(const BlockQ5_1& block, float* out) {
    const float d = f16_to_f32(block.d);
    const float m = f16_to_f32(block.m);
    const uint32_t high = high_word(block.high_bits);
    for (int i = 0; i < 16; ++i) {
        const int low_element = (block.nibbles[i] & 15) | static_cast<int>(high >> i & 1) << 4;
        const int high_element = (block.nibbles[i] >> 4) | static_cast<int>(high >> (i + 16) & 1) << 4;
        out[i] = static_cast<float>(low_element) * d + m;
        out[i + 16] = static_cast<float>(high_element) * d + m;
    }
}

void dequantize_block(const BlockQ8_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (uint32_t i = 0; i < kSmallBlock; ++i) out[i] = static_cast<float>(block.values[i]) * d;
}

void dequantize_block(const BlockQ1_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (uint32_t i = 0; i < 128; ++i) out[i] = (block.bits[i / 8] >> i % 8 & 1) != 0 ? d : -d;
}

void dequantize_block(const BlockQ2_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (uint32_t i = 0; i < 64; ++i)
        out[i] = static_cast<float>((block.pairs[i / 4] >> 2 * (i % 4) & 3) - 1) * d;
}

void dequantize_block(const BlockIq4Nl& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 16; ++i) {
        out[i] = d * static_cast<float>(kIq4Values[block.nibbles[i] & 15]);
        out[i + 16] = d * static_cast<float>(kIq4Values[block.nibbles[i] >> 4]);
    }
}

float mxfp4_scale(uint8_t exponent) {
    const uint32_t bits = exponent < 2 ? 0x00200000u << exponent : (uint32_t{exponent} - 1) << 23;
    return std::bit_cast<float>(bits);
}

void dequantize_block(const BlockMxfp4& block, float* out) {
    const float d = mxfp4_scale(block.exponent);
    for (int i = 0; i < 16; ++i) {
        out[i] = d * static_cast<float>(kFp4Values[block.nibbles[i] & 15]);
        out[i + 16] = d * static_cast<float>(kFp4Values[block.nibbles[i] >> 4]);
    }
}

// Four bits of exponent, three of mantissa, no sign; halved, since the values are doubled. 0x7f is no number.
float nvfp4_scale(uint8_t bits) {
    const int exponent = bits >> 3 & 15;
    const auto mantissa = static_cast<float>(bits & 7);
    if ((bits & 0x7f) == 0x7f) return 0;
    if (exponent == 0) return mantissa * 0x1p-10f;
    return (1.0f + mantissa / 8.0f) * std::bit_cast<float>(static_cast<uint32_t>(exponent + 127 - 8) << 23);
}

void dequantize_block(const BlockNvfp4& block, float* out) {
    for (int g = 0; g < 4; ++g, out += 16) {
        const float d = nvfp4_scale(block.scales[g]);
        for (int i = 0; i < 8; ++i) {
            const uint8_t nibbles = block.nibbles[g * 8 + i];
            out[i] = d * static_cast<float>(kFp4Values[nibbles & 15]);
            out[i + 8] = d * static_cast<float>(kFp4Values[nibbles >> 4]);
        }
    }
}

}  // namespace takt
