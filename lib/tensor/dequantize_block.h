// One block of each type to float32: what dequantize_row() goes through.
#pragma once

#include "tensor/quant_blocks.h"

namespace takt {

void dequantize_block(const BlockQ4_0& block, float* out);
void dequantize_block(const BlockQ4_1& block, float* out);
void dequantize_block(const BlockQ5_0& block, float* out);
void dequantize_block(const BlockQ5_1& block, float* out);
void dequantize_block(const BlockQ8_0& block, float* out);
void dequantize_block(const BlockQ1_0& block, float* out);
void dequantize_block(const BlockQ2_0& block, float* out);
void dequantize_block(const BlockIq4Nl& block, float* out);
void dequantize_block(const BlockMxfp4& block, float* out);
void dequantize_block(const BlockNvfp4& block, float* out);

void dequantize_block(const BlockQ2K& block, float* out);
void dequantize_block(const BlockQ3K& block, float* out);
void dequantize_block(const BlockQ4K& block, float* out);
void dequantize_block(const BlockQ5K& block, float* out);
void dequantize_block(const BlockQ6K& block, float* out);
void dequantize_block(const BlockTq1_0& block, float* out);
void dequantize_block(const BlockTq2_0& block, float* out);

void dequantize_block(const BlockIq4Xs& block, float* out);
void dequantize_block(const BlockIq3S& block, float* out);
void dequantize_block(const BlockIq3Xxs& block, float* out);
void dequantize_block(const BlockIq2Xxs& block, float* out);
void dequantize_block(const BlockIq2Xs& block, float* out);
void dequantize_block(const BlockIq2S& block, float* out);
void dequantize_block(const BlockIq1S& block, float* out);
void dequantize_block(const BlockIq1M& block, float* out);

// The integers that scales multiply, for who stores them in another form.
void unpack_scales(const uint8_t (&packed)[12], int8_t (&out)[16]);  // of q3_k, less 32
void q3k_values(const BlockQ3K& block, int8_t* out);                 // 256 of -4 to 3
void ternary_values(const BlockTq1_0& block, int8_t (&out)[256]);    // -1 to 1
int tq2_value(const BlockTq2_0& block, int i);                       // -1 to 2
float mxfp4_scale(uint8_t exponent);                                 // 2^(exponent - 128)

// 32 elements of an i type: element i is factor * multiplier[i / 16] * value[i]. The factor is the block's d
// by a power of two; products are exact in float32. The values: iq4_xs as they are, iq3_s 1 to 15, iq3_xxs
// halved (2 to 31), iq2_* 8, 25, 43, iq1_* eight times (1 to 9); all with their signs.
struct IGroup {
    float factor;
    int8_t multiplier[2];
    int8_t value[32];
};
void unpack_group(const BlockIq4Xs& block, int group, IGroup& out);
void unpack_group(const BlockIq3S& block, int group, IGroup& out);
void unpack_group(const BlockIq3Xxs& block, int group, IGroup& out);
void unpack_group(const BlockIq2Xxs& block, int group, IGroup& out);
void unpack_group(const BlockIq2Xs& block, int group, IGroup& out);
void unpack_group(const BlockIq2S& block, int group, IGroup& out);
void unpack_group(const BlockIq1S& block, int group, IGroup& out);
void unpack_group(const BlockIq1M& block, int group, IGroup& out);

// The values that the nibbles of iq4_nl and iq4_xs, of mxfp4 and nvfp4 stand for.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr int8_t kFp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace takt
