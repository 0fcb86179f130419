// Products of packed block weights with AVX-VNNI: one vpdpbusd multiplies four values of 8 rows with four of
// x.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx_vnni {

#include "cpu/kernels/vec_avx2.h"
#include "cpu/kernels/store_output.h"

namespace {

// Zen 5 (EPYC, one thread, 30 November 2026, machine shared with others), 1536 x 576, 512 rows: q4_1 363,
// q8_0 395, q6_k 240 GOP/s (avx2 271, 183, 158). Tried: 5 rows of two vectors, within 2 %; 4 of two, 5 %
// slower for q4_1; 6 of one, 10 to 14 % slower (q6_k the same); 8 of one slower still. One row of x with a
// whole panel a tile: q4_1 of 8960 x 1536 at 70 GB/s against 55 with half a panel.
constexpr size_t kChunkBytes = size_t{128} << 10;

struct Dot {
    static constexpr bool kSignedWeights = false;
    static constexpr int kTileRows = 6, kTileVectors = 2, kLoneVectors = 2;
    static constexpr int kTwoGroupRows = 6;
    static constexpr int kFewRows = 0;
    static constexpr bool kMatrix = false;
    static constexpr int kUnpackRows = 24;
    using Pairs = VecI;
    template <int kBits, int kNth>
    static inline __attribute__((always_inline)) void step(VecI& sum, Pairs&, VecI weights, VecI x) {
        sum = _mm256_dpbusd_avx_epi32(sum, weights, x);
    }
};

}  // namespace

#include "cpu/kernels/matmul_blocks.h"

}  // namespace takt::cpu::avx_vnni
