// Activations to int8 with AdvSIMD: a block of 32 is eight vectors.
#include <arm_neon.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::neon {
namespace {

inline uint32x4_t magnitude(const float* x) {
    return vandq_u32(vreinterpretq_u32_f32(vld1q_f32(x)), vdupq_n_u32(0x7fffffff));
}

inline uint32_t largest_bits(const float* x) {
    uint32x4_t largest = magnitude(x);
#pragma GCC unroll 8
    for (int i = 4; i < 32; i += 4) largest = vmaxq_u32(largest, magnitude(x + i));
    return vmaxvq_u32(largest);
}

inline int32x4_t to_int(const float* x, float factor) {
    return vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), factor));
}

inline void quantize_block(const float* x, float factor, int8_t* values, int32_t (&sums)[2]) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
        const float* from = x + 16 * half;
        const int16x8_t low =
            vcombine_s16(vmovn_s32(to_int(from, factor)), vmovn_s32(to_int(from + 4, factor)));
        const int16x8_t high =
            vcombine_s16(vmovn_s32(to_int(from + 8, factor)), vmovn_s32(to_int(from + 12, factor)));
        vst1q_s8(values + 16 * half, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
        sums[half] = vaddvq_s16(vaddq_s16(low, high));  // 16 values of at most 127
    }
}

inline void store_zeros(int8_t* values) {
    vst1q_s8(values, vdupq_n_s8(0));
    vst1q_s8(values + 16, vdupq_n_s8(0));
}

}  // namespace

#include "cpu/kernels/quantize_blocks.h"

}  // namespace takt::cpu::neon
