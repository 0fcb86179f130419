// Products of packed block weights with the int8 matrix instructions of Armv8.6: for several rows of x one
// usmmla multiplies eight values of two rows of weights with eight of two rows of x; one row alone goes by
// usdot.
#include <arm_neon.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::neon_i8mm {

#include "cpu/kernels/vec_neon.h"
#include "cpu/kernels/store_output.h"

namespace {

// Not measured on hardware (run under qemu-user alone): half of the 512 KiB of L2 that small cores have.
constexpr size_t kChunkBytes = size_t{256} << 10;

struct Dot {
    static constexpr bool kSignedWeights = false;
    // Not measured on hardware. Instructions of g++ 12 a block, row and vector (q4_1, q8_0, q6_k): 20, 21,
    // 39; 6 rows of two vectors 21, 21, 39; 4 of four 22, 20, 42; 4 of two 23, 23, 42.
    static constexpr int kTileRows = 8, kTileVectors = 2, kLoneVectors = 4;
    static constexpr int kTwoGroupRows = 8;
    static constexpr int kFewRows = 0;
    static constexpr bool kMatrix = true;
    static constexpr int kUnpackRows = 48;
    using Pairs = VecI;
    template <int kBits, int kNth>
    static inline __attribute__((always_inline)) void step(VecI& sum, Pairs&, VecI weights, VecI x) {
        sum = vusdotq_s32(sum, vreinterpretq_u8_s32(weights), vreinterpretq_s8_s32(x));
    }

    // Sums of a pair of rows of x: lanes w0 x0, w0 x1, w1 x0, w1 x1, and those of w2 and w3.
    struct Squares {
        VecI low, high;
    };

    // Steps i and i + 1: values 4 i to 4 i + 7.
    template <int i, typename Load, int kRows, int kPairs, int kVectors>
    static inline __attribute__((always_inline)) void add_eight(const Load& load,
                                                                const std::byte* const (&x)[kRows],
                                                                Squares (&sums)[kPairs][kVectors]) {
        uint8x16_t low[kVectors], high[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
            const VecI a = load.template operator()<i>(v), b = load.template operator()<i + 1>(v);
            low[v] = vreinterpretq_u8_s32(vzip1q_s32(a, b));
            high[v] = vreinterpretq_u8_s32(vzip2q_s32(a, b));
        }
#pragma GCC unroll 8
        for (int p = 0; p < kPairs; ++p) {  // a last row without a partner is its own
            const auto* first = reinterpret_cast<const int8_t*>(x[2 * p]);
            const auto* second = reinterpret_cast<const int8_t*>(x[2 * p + 1 < kRows ? 2 * p + 1 : 2 * p]);
            const int8x16_t two = vcombine_s8(vld1_s8(first + 4 * i), vld1_s8(second + 4 * i));
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                sums[p][v].low = vusmmlaq_s32(sums[p][v].low, low[v], two);
                sums[p][v].high = vusmmlaq_s32(sums[p][v].high, high[v], two);
            }
        }
    }

    template <int kFirst, int kSteps, typename Load, int kRows, int kVectors>
    static inline __attribute__((always_inline)) void add_group(const Load& load,
                                                                const std::byte* const (&x)[kRows],
                                                                VecI (&dots)[kRows][kVectors]) {
        constexpr int kPairs = (kRows + 1) / 2;
        Squares sums[kPairs][kVectors];
#pragma GCC unroll 8
        for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) sums[p][v] = {zero_i(), zero_i()};
        }
        add_eight<kFirst>(load, x, sums);
        if constexpr (kSteps == 8)
            add_eight<kFirst + 4>(load, x, sums);  // the other nibbles of the same bytes
        add_eight<kFirst + 2>(load, x, sums);
        if constexpr (kSteps == 8) add_eight<kFirst + 6>(load, x, sums);
#pragma GCC unroll 16
        for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                const Squares& pair = sums[t / 2][v];
                dots[t][v] = add_i(dots[t][v], t % 2 == 0 ? vuzp1q_s32(pair.low, pair.high)
                                                          : vuzp2q_s32(pair.low, pair.high));
            }
        }
    }
};

}  // namespace

#include "cpu/kernels/matmul_blocks.h"

}  // namespace takt::cpu::neon_i8mm
