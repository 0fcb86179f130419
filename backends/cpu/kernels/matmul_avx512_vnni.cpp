// Products of packed block weights with AVX-512 VNNI: one vpdpbusd multiplies four values of 16 rows with
// four of x.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx512_vnni {

#include "cpu/kernels/vec_avx512.h"
#include "cpu/kernels/store_output.h"

namespace {

// Zen 5 (EPYC, one thread, 30 November 2026, on a machine that others also used), share of oneDNN's int8 rate
// of 0.97 to 1.07 TOP/s in the same run, 512 rows: q8_0 57 to 74 %, q4_0 72 %, q4_1 62 to 69 %, q5_0 67 %,
// q4_k 61 to 66 %, q6_k 44 to 53 % (two scales a block). Tried: 4 rows of two vectors (q4_1, q6_k) and 5
// (q4_1), within 2 %; 10 rows of one, 3 (q4_1) and 7 % (q6_k) slower.
constexpr size_t kChunkBytes = size_t{768} << 10;

struct Dot {
    static constexpr bool kSignedWeights = false;
    static constexpr int kTileRows = 6, kTileVectors = 2, kLoneVectors = 1;
    static constexpr int kTwoGroupRows = 5;
    static constexpr bool kMatrix = false;
    static constexpr int kUnpackRows = 24;
    using Pairs = VecI;
    template <int kBits, int kNth>
    static inline __attribute__((always_inline)) void step(VecI& sum, Pairs&, VecI weights, VecI x) {
        sum = _mm512_dpbusd_epi32(sum, weights, x);
    }
};

}  // namespace

#include "cpu/kernels/matmul_blocks.h"

}  // namespace takt::cpu::avx512_vnni
