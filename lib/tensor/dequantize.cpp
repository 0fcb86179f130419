// Blocks to float32 in the reference's own order of operations, which decides the last bit.
#include "tensor/dequantize.h"

#include <bit>
#include <cstring>

#include "tensor/quant_blocks.h"

namespace takt {
namespace {

// The five bits above the nibbles, as one word.
uint32_t high_word(const uint8_t (&bytes)[4]) {
    return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

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

template <typename Block, uint32_t kElements>
void dequantize_blocks(const std::byte* bytes, std::span<float> out) {
    for (size_t i = 0; i + kElements <= out.size(); i += kElements, bytes += sizeof(Block)) {
        Block block;  // copied: the source may lie at any address
        std::memcpy(&block, bytes, sizeof(Block));
        dequantize_block(block, out.data() + i);
    }
}

template <float (*kConvert)(uint16_t)>
void convert_halves(const std::byte* bytes, std::span<float> out) {
    for (size_t i = 0; i < out.size(); ++i) {
        uint16_t bits = 0;
        std::memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
        out[i] = kConvert(bits);
    }
}

}  // namespace

float f16_to_f32(uint16_t bits) {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
    const uint32_t exponent = bits >> 10 & 31;
    const uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24, exact in float32
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    const uint32_t wide_exponent = exponent == 31 ? 255 : exponent + 112;
    return std::bit_cast<float>(sign | wide_exponent << 23 | mantissa << 13);
}

uint16_t f32_to_f16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));  // NaN
    if (magnitude >= 0x477ff000u)
        return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and more round to infinity
    if (magnitude < 0x38800000u) {
        // Below 2^-14: adding 0.5 puts the subnormal's bits, rounded by the adder itself, at the end of the
        // mantissa.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return static_cast<uint16_t>(sign | (magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

float bf16_to_f32(uint16_t bits) {
    return std::bit_cast<float>(uint32_t{bits} << 16);
}

void dequantize_row(DType dtype, std::span<const std::byte> blocks, std::span<float> out) {
    const std::byte* bytes = blocks.data();
    switch (dtype) {
        case DType::f32:
            if (!out.empty()) std::memcpy(out.data(), bytes, out.size_bytes());
            return;
        case DType::f16:
            return convert_halves<f16_to_f32>(bytes, out);
        case DType::bf16:
            return convert_halves<bf16_to_f32>(bytes, out);
        case DType::q4_0:
            return dequantize_blocks<BlockQ4_0, kSmallBlock>(bytes, out);
        case DType::q4_1:
            return dequantize_blocks<BlockQ4_1, kSmallBlock>(bytes, out);
        case DType::q5_0:
            return dequantize_blocks<BlockQ5_0, kSmallBlock>(bytes, out);
        case DType::q5_1:
            return dequantize_blocks<BlockQ5_1, kSmallBlock>(bytes, out);
        case DType::q8_0:
            return dequantize_blocks<BlockQ8_0, kSmallBlock>(bytes, out);
        case DType::q4_k:
            return dequantize_blocks<BlockQ4K, kSuperBlock>(bytes, out);
        case DType::q5_k:
            return dequantize_blocks<BlockQ5K, kSuperBlock>(bytes, out);
        case DType::q6_k:
            return dequantize_blocks<BlockQ6K, kSuperBlock>(bytes, out);
    }
}

}  // namespace takt
