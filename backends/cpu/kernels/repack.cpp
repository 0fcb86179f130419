// Each source block becomes the target's: whole numbers and scales where they fit, new ones where not.
#include "cpu/kernels/repack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tensor/dequantize.h"
#include "tensor/dequantize_block.h"

namespace takt::cpu {
namespace {

constexpr uint16_t kNan = 0x7e00, kLargest = 0x7bff;

void put(BlockQ4_0& out, uint16_t d, const int8_t* values) {
    out.d = d;
    for (uint32_t i = 0; i < 16; ++i)
        out.nibbles[i] = static_cast<uint8_t>((values[i] + 8) | (values[i + 16] + 8) << 4);
}

void put(BlockQ5_0& out, uint16_t d, const int8_t* values) {
    out.d = d;
    uint32_t high = 0;
    for (uint32_t i = 0; i < 16; ++i) {
        const int low_element = values[i] + 16, high_element = values[i + 16] + 16;
        out.nibbles[i] = static_cast<uint8_t>((low_element & 15) | (high_element & 15) << 4);
        high |= static_cast<uint32_t>(low_element >> 4) << i | static_cast<uint32_t>(high_element >> 4)
                                                                   << (i + 16);
    }
    std::memcpy(out.high_bits, &high, sizeof(high));
}

void put(BlockQ8_0& out, uint16_t d, const int8_t* values) {
    out.d = d;
    std::memcpy(out.values, values, kSmallBlock);
}

// Runs of 32 elements of a half: see dequantize_block().
void put(BlockQ6K& out, uint16_t d, const std::array<int8_t, 16>& scales,
         const std::array<int8_t, kSuperBlock>& values) {
    out.d = d;
    std::memcpy(out.scales, scales.data(), scales.size());
    for (uint32_t half = 0; half < 2; ++half) {
        std::array<uint8_t, 128> bits;
        for (uint32_t i = 0; i < 128; ++i) bits[i] = static_cast<uint8_t>(values[half * 128 + i] + 32);
        uint8_t* nibbles = out.nibbles + half * 64;
        uint8_t* high = out.high_bits + half * 32;
        for (uint32_t i = 0; i < 64; ++i)
            nibbles[i] = static_cast<uint8_t>((bits[i] & 15) | (bits[64 + i] & 15) << 4);
        for (uint32_t i = 0; i < 32; ++i) {
            high[i] = static_cast<uint8_t>(bits[i] >> 4 | (bits[32 + i] >> 4) << 2 |
                                           (bits[64 + i] >> 4) << 4 | (bits[96 + i] >> 4) << 6);
        }
    }
}

// One value for each element, times the block's own d.
template <uint32_t kElements, typename Value>
void put_values(uint16_t d, Value value, uint8_t* out) {
    std::array<int8_t, kElements> values;
    for (uint32_t i = 0; i < kElements; ++i) values[i] = static_cast<int8_t>(value(i));
    for (uint32_t i = 0; i < kElements; i += kSmallBlock, out += sizeof(BlockQ4_0)) {
        BlockQ4_0 block;
        put(block, d, values.data() + i);
        std::memcpy(out, &block, sizeof(block));
    }
}

void convert(const BlockQ1_0& block, uint8_t* out) {
    put_values<128>(block.d, [&](uint32_t i) { return (block.bits[i / 8] >> i % 8 & 1) != 0 ? 1 : -1; }, out);
}
void convert(const BlockQ2_0& block, uint8_t* out) {
    put_values<64>(block.d, [&](uint32_t i) { return (block.pairs[i / 4] >> 2 * (i % 4) & 3) - 1; }, out);
}
void convert(const BlockTq1_0& block, uint8_t* out) {
    int8_t values[kSuperBlock];
    ternary_values(block, values);
    put_values<kSuperBlock>(block.d, [&](uint32_t i) { return values[i]; }, out);
}
void convert(const BlockTq2_0& block, uint8_t* out) {
    put_values<kSuperBlock>(block.d, [&](uint32_t i) { return tq2_value(block, static_cast<int>(i)); }, out);
}

void convert(const BlockIq4Nl& block, uint8_t* out) {
    BlockQ8_0 packed;
    packed.d = block.d;
    for (uint32_t i = 0; i < 16; ++i) {
        packed.values[i] = kIq4Values[block.nibbles[i] & 15];
        packed.values[i + 16] = kIq4Values[block.nibbles[i] >> 4];
    }
    std::memcpy(out, &packed, sizeof(packed));
}

// Scales from 2^-24 to 2^15 are float16 numbers. Beyond, the nearest of these is taken and the values follow:
// rounded below, cut off above.
void convert(const BlockMxfp4& block, uint8_t* out) {
    const float scale = mxfp4_scale(block.exponent);
    const float stored = std::clamp(scale, 0x1p-24f, 0x1p15f);
    std::array<int8_t, kSmallBlock> values;
    for (uint32_t i = 0; i < 16; ++i) {
        values[i] = kFp4Values[block.nibbles[i] & 15];
        values[i + 16] = kFp4Values[block.nibbles[i] >> 4];
    }
    for (uint32_t i = 0; scale != stored && i < kSmallBlock; ++i) {
        const float value = static_cast<float>(values[i]) * (scale / stored);
        values[i] = static_cast<int8_t>(std::lrint(std::clamp(value, -16.0f, 15.0f)));
    }
    BlockQ5_0 packed;
    put(packed, f32_to_f16(stored), values.data());
    std::memcpy(out, &packed, sizeof(packed));
}

void convert(const BlockQ3K& block, uint8_t* out) {
    std::array<int8_t, kSuperBlock> values;
    int8_t scales[16];
    unpack_scales(block.scales, scales);
    q3k_values(block, values.data());
    BlockQ6K packed;
    put(packed, block.d, std::to_array(scales), values);
    std::memcpy(out, &packed, sizeof(packed));
}

// Beyond float16's range the largest it has, not infinity: the values behind it may be 0.
uint16_t round_scale(float scale) {
    const uint16_t bits = f32_to_f16(scale);
    return std::isfinite(scale) && (bits & 0x7fff) > kLargest ? static_cast<uint16_t>(bits - 1) : bits;
}

template <typename Block>
void groups_to_q6_k(const Block& block, uint8_t* out) {
    std::array<int8_t, kSuperBlock> values;
    std::array<int8_t, 16> scales;
    IGroup group{};
    for (uint32_t g = 0; g < 8; ++g) {
        unpack_group(block, static_cast<int>(g), group);
        std::copy(group.value, group.value + 32, values.data() + g * 32);
        scales[2 * g] = group.multiplier[0];
        scales[2 * g + 1] = group.multiplier[1];
    }
    BlockQ6K packed;
    put(packed, f32_to_f16(group.factor), scales, values);
    std::memcpy(out, &packed, sizeof(packed));
}

template <typename Block>
void groups_to_q8_0(const Block& block, uint8_t* out) {
    IGroup group{};
    for (int g = 0; g < 8; ++g, out += sizeof(BlockQ8_0)) {
        unpack_group(block, g, group);
        BlockQ8_0 packed;
        put(packed, round_scale(group.factor * static_cast<float>(group.multiplier[0])), group.value);
        std::memcpy(out, &packed, sizeof(packed));
    }
}

// The least float16 scale by which all of them fit into an int8. An infinite or missing number makes the
// block NaN.
BlockQ8_0 round_to_q8_0(const float* x) {
    float largest = 0;
    bool finite = true;
    for (uint32_t i = 0; i < kSmallBlock; ++i) {
        const float size = std::abs(x[i]);
        largest = size > largest ? size : largest;
        finite &= size < INFINITY;
    }
    BlockQ8_0 out{};
    if (!finite) {
        out.d = kNan;
        return out;
    }
    if (largest == 0) return out;
    out.d = std::min(f32_to_f16(largest / 127.0f), kLargest);
    if (f16_to_f32(out.d) * 127.0f < largest && out.d < kLargest) ++out.d;
    const float inverse = 1.0f / f16_to_f32(out.d);
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: what is added to it becomes a whole number
    for (uint32_t i = 0; i < kSmallBlock; ++i) {
        const float scaled = std::min(std::max(x[i] * inverse, -127.0f), 127.0f);
        out.values[i] = static_cast<int8_t>((scaled + kRound) - kRound);
    }
    return out;
}

template <uint32_t kElements, typename Block>
void round_block(const Block& block, uint8_t* out) {
    std::array<float, kElements> x;
    dequantize_block(block, x.data());
    for (uint32_t i = 0; i < kElements; i += kSmallBlock, out += sizeof(BlockQ8_0)) {
        const BlockQ8_0 packed = round_to_q8_0(x.data() + i);
        std::memcpy(out, &packed, sizeof(packed));
    }
}

void convert(const BlockIq1S& block, uint8_t* out) {
    groups_to_q6_k(block, out);
}
void convert(const BlockIq1M& block, uint8_t* out) {
    groups_to_q6_k(block, out);
}
void convert(const BlockIq3Xxs& block, uint8_t* out) {
    groups_to_q6_k(block, out);
}
void convert(const BlockIq3S& block, uint8_t* out) {
    groups_to_q6_k(block, out);
}
void convert(const BlockIq2Xxs& block, uint8_t* out) {
    groups_to_q8_0(block, out);
}
void convert(const BlockIq4Xs& block, uint8_t* out) {
    groups_to_q8_0(block, out);
}
void convert(const BlockIq2Xs& block, uint8_t* out) {
    round_block<kSuperBlock>(block, out);
}
void convert(const BlockIq2S& block, uint8_t* out) {
    round_block<kSuperBlock>(block, out);
}
void convert(const BlockQ2K& block, uint8_t* out) {
    round_block<kSuperBlock>(block, out);
}
void convert(const BlockNvfp4& block, uint8_t* out) {
    round_block<64>(block, out);
}

// kBytes: of the stored type's blocks for one source block.
template <typename Block, uint32_t kElements, size_t kBytes>
void repack_blocks(const uint8_t* blocks, uint32_t n_elements, uint8_t* out) {
    for (uint32_t i = 0; i < n_elements; i += kElements, blocks += sizeof(Block), out += kBytes) {
        Block block;
        std::memcpy(&block, blocks, sizeof(block));
        convert(block, out);
    }
}

template <typename Block, typename Stored, uint32_t kElements, uint32_t kStoredElements>
constexpr auto kRepack = &repack_blocks<Block, kElements, kElements / kStoredElements * sizeof(Stored)>;

}  // namespace

void repack(DType dtype, const uint8_t* blocks, uint32_t n_elements, uint8_t* out) {
    switch (dtype) {
        case DType::q2_k:
            return kRepack<BlockQ2K, BlockQ8_0, 256, 32>(blocks, n_elements, out);
        case DType::q3_k:
            return kRepack<BlockQ3K, BlockQ6K, 256, 256>(blocks, n_elements, out);
        case DType::iq1_s:
            return kRepack<BlockIq1S, BlockQ6K, 256, 256>(blocks, n_elements, out);
        case DType::iq1_m:
            return kRepack<BlockIq1M, BlockQ6K, 256, 256>(blocks, n_elements, out);
        case DType::iq2_xxs:
            return kRepack<BlockIq2Xxs, BlockQ8_0, 256, 32>(blocks, n_elements, out);
        case DType::iq2_xs:
            return kRepack<BlockIq2Xs, BlockQ8_0, 256, 32>(blocks, n_elements, out);
        case DType::iq2_s:
            return kRepack<BlockIq2S, BlockQ8_0, 256, 32>(blocks, n_elements, out);
        case DType::iq3_xxs:
            return kRepack<BlockIq3Xxs, BlockQ6K, 256, 256>(blocks, n_elements, out);
        case DType::iq3_s:
            return kRepack<BlockIq3S, BlockQ6K, 256, 256>(blocks, n_elements, out);
        case DType::iq4_nl:
            return kRepack<BlockIq4Nl, BlockQ8_0, 32, 32>(blocks, n_elements, out);
        case DType::iq4_xs:
            return kRepack<BlockIq4Xs, BlockQ8_0, 256, 32>(blocks, n_elements, out);
        case DType::tq1_0:
            return kRepack<BlockTq1_0, BlockQ4_0, 256, 32>(blocks, n_elements, out);
        case DType::tq2_0:
            return kRepack<BlockTq2_0, BlockQ4_0, 256, 32>(blocks, n_elements, out);
        case DType::mxfp4:
            return kRepack<BlockMxfp4, BlockQ5_0, 32, 32>(blocks, n_elements, out);
        case DType::nvfp4:
            return kRepack<BlockNvfp4, BlockQ8_0, 64, 32>(blocks, n_elements, out);
        case DType::q1_0:
            return kRepack<BlockQ1_0, BlockQ4_0, 128, 32>(blocks, n_elements, out);
        case DType::q2_0:
            return kRepack<BlockQ2_0, BlockQ4_0, 64, 32>(blocks, n_elements, out);
        default:
            return;  // the others are packed as they are
    }
}

}  // namespace takt::cpu
