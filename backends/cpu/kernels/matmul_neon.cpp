// Products of packed block weights with AdvSIMD alone: smull and smlal into 16-bit sums, which a group of
// steps can't overflow.
#include <arm_neon.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::neon {

#include "cpu/kernels/vec_neon.h"
#include "cpu/kernels/store_output.h"

namespace {

// Not measured on hardware (run under qemu-user alone): half of the 512 KiB of L2 that small cores have.
constexpr size_t kChunkBytes = size_t{256} << 10;

// |x| <= 127, so a product of a b-bit weight is at most 127 * (2^b - 1): 1905, 3937 and 8001 for 4, 5 and 6
// bits, of which eight, eight and four stay below 32768. 8-bit weights are taken signed: two products, at
// most 128 * 127 * 2.
struct Dot {
    static constexpr bool kSignedWeights = true;
    // Not measured on hardware. Instructions of g++ 12 a block, row and vector (q4_1, q8_0, q6_k): 39, 50,
    // 62; 3 rows of two vectors 42, 51, 64; 6 of two 38, 52, 62 with spills; 3 of four 41, 50, 66.
    static constexpr int kTileRows = 4, kTileVectors = 2, kLoneVectors = 4;
    static constexpr int kTwoGroupRows = 4;
    static constexpr int kFewRows = 0;
    static constexpr bool kMatrix = false;
    static constexpr int kUnpackRows = 24;
    struct Pairs {
        int16x8_t low, high;  // of rows 0 and 1, and of rows 2 and 3; four values each
    };
    template <int kBits, int kNth>
    static inline __attribute__((always_inline)) void step(VecI& sum, Pairs& pairs, VecI weights, VecI x) {
        constexpr int kFlush = kBits <= 5 ? 8 : kBits == 6 ? 4 : 2;
        const int8x16_t w = vreinterpretq_s8_s32(weights), four = vreinterpretq_s8_s32(x);
        if constexpr (kNth % kFlush == 0) {
            pairs.low = vmull_s8(vget_low_s8(w), vget_low_s8(four));
            pairs.high = vmull_high_s8(w, four);
        } else {
            pairs.low = vmlal_s8(pairs.low, vget_low_s8(w), vget_low_s8(four));
            pairs.high = vmlal_high_s8(pairs.high, w, four);
        }
        if constexpr (kNth % kFlush == kFlush - 1)
            sum = add_i(sum, vpaddq_s32(vpaddlq_s16(pairs.low), vpaddlq_s16(pairs.high)));
    }
};

}  // namespace

#include "cpu/kernels/matmul_blocks.h"

}  // namespace takt::cpu::neon
