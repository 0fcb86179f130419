// Products of packed block weights with the dot products of Armv8.2: one sdot multiplies four values of 4
// rows with four of x.
#include <arm_neon.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::neon_dotprod {

#include "cpu/kernels/vec_neon.h"
#include "cpu/kernels/store_output.h"

namespace {

// Not measured on hardware (run under qemu-user alone): half of the 512 KiB of L2 that small cores have.
constexpr size_t kChunkBytes = size_t{256} << 10;

// Weights of 4 to 6 bits are the same number signed or unsigned.
struct Dot {
    static constexpr bool kSignedWeights = true;
    // Not measured on hardware. Instructions of g++ 12 a block, row and vector (q4_1, q8_0, q6_k): 25, 23,
    // 40; 3 rows of four vectors 26, 24, 43; 6 of two 27, 26, 39; 8 of two 27, 25, 39; 4 of two 30, 27, 43.
    static constexpr int kTileRows = 4, kTileVectors = 4, kLoneVectors = 4;
    static constexpr int kTwoGroupRows = 4;
    static constexpr int kFewRows = 0;
    static constexpr bool kMatrix = false;
    static constexpr int kUnpackRows = 24;
    using Pairs = VecI;
    template <int kBits, int kNth>
    static inline __attribute__((always_inline)) void step(VecI& sum, Pairs&, VecI weights, VecI x) {
        sum = vdotq_s32(sum, vreinterpretq_s8_s32(weights), vreinterpretq_s8_s32(x));
    }
};

}  // namespace

#include "cpu/kernels/matmul_blocks.h"

}  // namespace takt::cpu::neon_dotprod
