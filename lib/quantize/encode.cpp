// Row by row, block by block; plain types element by element.
#include "quantize/encode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "quantize/encode_block.h"
#include "tensor/dequantize.h"

namespace takt {
namespace {

constexpr float kLargestF16 = 65504.0f;
// So that a column that was never active still has a scale to follow.
constexpr float kLeastWeight = 1e-6f;

uint16_t f32_to_bf16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

template <uint16_t (*kConvert)(float)>
void encode_halves(std::span<const float> values, std::byte* out) {
    for (const float value : values) {
        const uint16_t bits = kConvert(value);
        std::memcpy(out, &bits, sizeof(bits));
        out += sizeof(bits);
    }
}

// Weights relative to the block's mean, so that nothing depends on their size.
template <size_t kElements>
void block_weights(std::span<const float> importance, size_t at, std::array<float, kElements>& out) {
    out.fill(1.0f);
    if (importance.empty()) return;
    double sum = 0;
    for (size_t i = 0; i < kElements; ++i) sum += importance[at + i];
    const double mean = sum / kElements;
    if (!(mean > 0)) return;
    for (size_t i = 0; i < kElements; ++i)
        out[i] = std::max(static_cast<float>(importance[at + i] / mean), kLeastWeight);
}

template <typename Block, size_t kElements>
void encode_blocks(std::span<const float> values, std::span<const float> importance, std::byte* out) {
    std::array<float, kElements> weight;
    for (size_t i = 0; i + kElements <= values.size(); i += kElements, out += sizeof(Block)) {
        block_weights(importance, i, weight);
        Block block;
        encode_block(values.data() + i, weight.data(), block);
        std::memcpy(out, &block, sizeof(block));
    }
}

}  // namespace

bool can_encode(DType dtype) {
    constexpr DType kTypes[] = {DType::f32,  DType::f16,  DType::bf16, DType::q4_0, DType::q4_1, DType::q5_0,
                                DType::q5_1, DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k};
    return std::ranges::find(kTypes, dtype) != std::end(kTypes);
}

float largest_value(DType dtype) {
    return dtype == DType::f32 || dtype == DType::bf16 ? 3e38f : kLargestF16;
}

void encode_row(DType dtype, std::span<const float> values, std::span<const float> importance,
                std::span<std::byte> out) {
    switch (dtype) {
        case DType::f32:
            if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
            return;
        case DType::f16:
            return encode_halves<f32_to_f16>(values, out.data());
        case DType::bf16:
            return encode_halves<f32_to_bf16>(values, out.data());
        case DType::q4_0:
            return encode_blocks<BlockQ4_0, kSmallBlock>(values, importance, out.data());
        case DType::q4_1:
            return encode_blocks<BlockQ4_1, kSmallBlock>(values, importance, out.data());
        case DType::q5_0:
            return encode_blocks<BlockQ5_0, kSmallBlock>(values, importance, out.data());
        case DType::q5_1:
            return encode_blocks<BlockQ5_1, kSmallBlock>(values, importance, out.data());
        case DType::q8_0:
            return encode_blocks<BlockQ8_0, kSmallBlock>(values, importance, out.data());
        case DType::q4_k:
            return encode_blocks<BlockQ4K, kSuperBlock>(values, importance, out.data());
        case DType::q5_k:
            return encode_blocks<BlockQ5K, kSuperBlock>(values, importance, out.data());
        case DType::q6_k:
            return encode_blocks<BlockQ6K, kSuperBlock>(values, importance, out.data());
        default:
            return;  // can_encode() says no
    }
}

}  // namespace takt
