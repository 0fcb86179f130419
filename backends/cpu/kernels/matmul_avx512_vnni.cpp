// Products of packed block weights with AVX-512 VNNI: one vpdpbusd multiplies four values of 16 rows with four of x.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx512_vnni {

#include "cpu/kernels/vec_avx512.h"
#include "cpu/kernels/store_output.h"

namespace {

// Zen 5 (EPYC, one thread, November 2026), share of oneDNN's int8 rate of 1.03 TOP/s in the same run, 512 rows: q8_0 69 to 74 %, q4_0 72 %,
// q4_1 64 to 69 %, q5_0 67 %, q4_k 61 to 66 %, q6_k 47 to 53 % (two scales a block). Tried for q4_1 and q6_k: 4 and 5 rows of two vectors
// (within 2 %), 10 rows of one (3 to 6 % slower). One row: 83 to 86 % of the read bandwidth, 120 MB and more of weights.
constexpr size_t kChunkBytes = size_t{384} << 10;

struct Dot {
    static constexpr bool kSignedWeights = false;
    static constexpr int kTileRows = 6, kTileVectors = 2;
    template <int kBits, int kNth>
    static inline __attribute__((always_inline)) void step(VecI& sum, VecI&, VecI weights, VecI x) { sum = _mm512_dpbusd_epi32(sum, weights, x); }
};

}  // namespace

#include "cpu/kernels/matmul_blocks.h"

}  // namespace takt::cpu::avx512_vnni
