// The block layouts of GGUF's quantized types as they lie in the file, little-endian. Scales named d, min and
// m are f16 bits.
#pragma once

#include <cstdint>

namespace takt {

constexpr uint32_t kSmallBlock = 32;   // elements of q4_0 … q8_0, iq4_nl, mxfp4
constexpr uint32_t kSuperBlock = 256;  // elements of the k, i and ternary types

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

// x = d or -d: bit i of the 128 is element i, set for d.
struct BlockQ1_0 {
    uint16_t d;
    uint8_t bits[16];
};
static_assert(sizeof(BlockQ1_0) == 18);

// x = (pair - 1) * d. 64 elements, four a byte, the first lowest.
struct BlockQ2_0 {
    uint16_t d;
    uint8_t pairs[16];
};
static_assert(sizeof(BlockQ2_0) == 18);

// x = kIq4Values[nibble] * d
struct BlockIq4Nl {
    uint16_t d;
    uint8_t nibbles[kSmallBlock / 2];
};
static_assert(sizeof(BlockIq4Nl) == 18);

// x = kFp4Values[nibble] * 2^(exponent - 128)
struct BlockMxfp4 {
    uint8_t exponent;
    uint8_t nibbles[kSmallBlock / 2];
};
static_assert(sizeof(BlockMxfp4) == 17);

// Four groups of 16, eight bytes of nibbles each, with a scale of four bits of exponent and three of
// mantissa: x = kFp4Values[nibble] * scale / 2
struct BlockNvfp4 {
    uint8_t scales[4];
    uint8_t nibbles[32];
};
static_assert(sizeof(BlockNvfp4) == 36);

// Sixteen groups of 16 with a 4-bit scale (low nibble) and a 4-bit minimum each: x = pair * (d * scale) - min
// * minimum. A half of 128 elements is four runs of 32: run r takes bits 2r and 2r + 1 of the half's 32
// bytes.
struct BlockQ2K {
    uint8_t scales[kSuperBlock / 16];
    uint8_t pairs[kSuperBlock / 4];
    uint16_t d;
    uint16_t min;
};
static_assert(sizeof(BlockQ2K) == 84);

// Sixteen groups of 16 with a 6-bit scale each: x = (pair + 4 * bit - 4) * (d * (scale - 32)). Pairs as in
// q2_k; bit g of high_bits[i] belongs to element 32 g + i.
struct BlockQ3K {
    uint8_t high_bits[kSuperBlock / 8];
    uint8_t pairs[kSuperBlock / 4];
    uint8_t scales[12];
    uint16_t d;
};
static_assert(sizeof(BlockQ3K) == 110);

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

// x = (digit - 1) * d. Five ternary digits a byte, as a fraction of 256: first those of bytes 0..31, digit by
// digit, then of bytes 32..47; the last four bytes hold four each.
struct BlockTq1_0 {
    uint8_t fives[48];
    uint8_t fours[4];
    uint16_t d;
};
static_assert(sizeof(BlockTq1_0) == 54);

// x = (pair - 1) * d. Pairs as in q2_k.
struct BlockTq2_0 {
    uint8_t pairs[kSuperBlock / 4];
    uint16_t d;
};
static_assert(sizeof(BlockTq2_0) == 66);

// Eight groups of 32 with a 6-bit scale each, four low bits in scales_low, two high ones in scales_high:
// x = kIq4Values[nibble] * (d * (scale - 32)). Nibbles as in the small blocks.
struct BlockIq4Xs {
    uint16_t d;
    uint16_t scales_high;
    uint8_t scales_low[4];
    uint8_t nibbles[kSuperBlock / 2];
};
static_assert(sizeof(BlockIq4Xs) == 136);

// The i types below look runs of 4 (iq3_*) or 8 elements up in a grid (quant_grids.h).

// Groups of 32: d * (2 * scale + 1), a ninth bit for each of eight grid indices, a sign bit for each element.
struct BlockIq3S {
    uint16_t d;
    uint8_t indices[64];
    uint8_t high_bits[8];
    uint8_t signs[32];
    uint8_t scales[4];  // two a byte
};
static_assert(sizeof(BlockIq3S) == 110);

// Groups of 32, each with a word of four times seven signs (the eighth makes their number even) and a 4-bit
// scale on top: (d / 4) * (2 * scale + 1).
struct BlockIq3Xxs {
    uint16_t d;
    uint8_t indices[64];
    uint8_t signs_and_scales[32];
};
static_assert(sizeof(BlockIq3Xxs) == 98);

// Groups of 32: four grid indices, then a word as in iq3_xxs: (d / 8) * (2 * scale + 1).
struct BlockIq2Xxs {
    uint16_t d;
    uint8_t groups[64];
};
static_assert(sizeof(BlockIq2Xxs) == 66);

// Nine bits of grid index and seven signs a word; groups of 16 with a 4-bit scale.
struct BlockIq2Xs {
    uint16_t d;
    uint16_t words[32];
    uint8_t scales[8];
};
static_assert(sizeof(BlockIq2Xs) == 74);

// Ten bits of grid index (two in high_bits), eight signs; groups of 16 with a 4-bit scale.
struct BlockIq2S {
    uint16_t d;
    uint8_t indices[32];
    uint8_t signs[32];
    uint8_t high_bits[8];
    uint8_t scales[8];
};
static_assert(sizeof(BlockIq2S) == 82);

// Groups of 32 with a word each: four times three high bits of a grid index, a 3-bit scale, and whether the
// eighth that is added to every point is negative: d * (2 * scale + 1) * (point +- 1/8).
struct BlockIq1S {
    uint16_t d;
    uint8_t indices[32];
    uint16_t words[8];
};
static_assert(sizeof(BlockIq1S) == 50);

// As iq1_s with a nibble for each index (three high bits and the eighth's sign) and groups of 16; the four
// top nibbles of the scale words are d.
struct BlockIq1M {
    uint8_t indices[32];
    uint8_t high_nibbles[16];
    uint16_t scales[4];
};
static_assert(sizeof(BlockIq1M) == 56);

}  // namespace takt
