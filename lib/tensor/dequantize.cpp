// Blocks to float32 in the reference's own order of operations, which decides the last bit.
#include "tensor/dequantize.h"

#include <bit>
#include <cstring>

#include "tensor/dequantize_block.h"

namespace takt {
namespace {

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
        case DType::q1_0:
            return dequantize_blocks<BlockQ1_0, 128>(bytes, out);
        case DType::q2_0:
            return dequantize_blocks<BlockQ2_0, 64>(bytes, out);
        case DType::iq4_nl:
            return dequantize_blocks<BlockIq4Nl, kSmallBlock>(bytes, out);
        case DType::mxfp4:
            return dequantize_blocks<BlockMxfp4, kSmallBlock>(bytes, out);
        case DType::nvfp4:
            return dequantize_blocks<BlockNvfp4, 64>(bytes, out);
        case DType::q2_k:
            return dequantize_blocks<BlockQ2K, kSuperBlock>(bytes, out);
        case DType::q3_k:
            return dequantize_blocks<BlockQ3K, kSuperBlock>(bytes, out);
        case DType::tq1_0:
            return dequantize_blocks<BlockTq1_0, kSuperBlock>(bytes, out);
        case DType::tq2_0:
            return dequantize_blocks<BlockTq2_0, kSuperBlock>(bytes, out);
        case DType::iq4_xs:
            return dequantize_blocks<BlockIq4Xs, kSuperBlock>(bytes, out);
        case DType::iq3_s:
            return dequantize_blocks<BlockIq3S, kSuperBlock>(bytes, out);
        case DType::iq3_xxs:
            return dequantize_blocks<BlockIq3Xxs, kSuperBlock>(bytes, out);
        case DType::iq2_xxs:
            return dequantize_blocks<BlockIq2Xxs, kSuperBlock>(bytes, out);
        case DType::iq2_xs:
            return dequantize_blocks<BlockIq2Xs, kSuperBlock>(bytes, out);
        case DType::iq2_s:
            return dequantize_blocks<BlockIq2S, kSuperBlock>(bytes, out);
        case DType::iq1_s:
            return dequantize_blocks<BlockIq1S, kSuperBlock>(bytes, out);
        case DType::iq1_m:
            return dequantize_blocks<BlockIq1M, kSuperBlock>(bytes, out);
    }
}

}  // namespace takt
