// The block layouts of GGUF's quantized types as they lie in the file, little-endian. Scales named d, min and
// m are f16 bits.
#pragma once

#include <cstdint>

namespace takt {

constexpr uint32_t kSmallBlock = 32;   // elements of q4_0 … q8_0
constexpr uint32_t kSuperBlock = 256;  // elements of the k types

// x = (nibble - 8) * d. Low nibbles are elements 0..15, high nibbles 16..31; so in all four types below.
struct BlockQ4_0 {
    uint16_t d;
    uint8_t nibbles[kSmallBlock / 2];
};
static_assert(sizeof(BlockQ4_0) == 18);

// x = nibble * d + m
struct BlockQ4_1 {
    uint16_t d;
    uint16_t m;
    uint8_t nibbles[kSmallBlock / 2];
};
static_assert(sizeof(BlockQ4_1) == 20);

// x = (nibble + 16 * bit - 16) * d. Bit i of the 32 high bits belongs to element i.
struct BlockQ5_0 {
    uint16_t d;
    uint8_t high_bits[4];
    uint8_t nibbles[kSmallBlock / 2];
};
static_assert(sizeof(BlockQ5_0) == 22);

// x = (nibble + 16 * bit) * d + m
struct BlockQ5_1 {
    uint16_t d;
    uint16_t m;
    uint8_t high_bits[4];
    uint8_t nibbles[kSmallBlock / 2];
};
static_assert(sizeof(BlockQ5_1) == 24);

// x = value * d
struct BlockQ8_0 {
    uint16_t d;
    int8_t values[kSmallBlock];
};
static_assert(sizeof(BlockQ8_0) == 34);

// Eight groups of 32 with a 6-bit scale and a 6-bit minimum each (unpack_scales in dequantize.cpp):
// x = nibble * (d * scale) - min * minimum. Bytes 32g.. hold group 2g in low and group 2g + 1 in high
// nibbles.
struct BlockQ4K {
    uint16_t d;
    uint16_t min;
    uint8_t scales[12];
    uint8_t nibbles[kSuperBlock / 2];
};
static_assert(sizeof(BlockQ4K) == 144);

// As q4_k with a fifth bit: bit g of high_bits[i] belongs to element i of group g.
struct BlockQ5K {
    uint16_t d;
    uint16_t min;
    uint8_t scales[12];
    uint8_t high_bits[kSuperBlock / 8];
    uint8_t nibbles[kSuperBlock / 2];
};
static_assert(sizeof(BlockQ5K) == 176);

// Sixteen groups of 16 with an 8-bit scale each: x = (six bits - 32) * (d * scale). The bits lie interleaved
// by halves of 128.
struct BlockQ6K {
    uint8_t nibbles[kSuperBlock / 2];
    uint8_t high_bits[kSuperBlock / 4];
    int8_t scales[kSuperBlock / 16];
    uint16_t d;
};
static_assert(sizeof(BlockQ6K) == 210);

}  // namespace takt
