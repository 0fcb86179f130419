// Products of packed block weights with AVX-512 VNNI: one vpdpbusd multiplies four values of 16 rows with
// four of x.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx512_vnni {

#include "cpu/kernels/vec_avx512.h"
#include "cpu/kernels/store_output.h"

namespace {

// Zen 5 (EPYC, one thread, 30 November 2026, on a machine that others also used), share of oneDNN's int8 rate
// of 1.05 to 1.09 TOP/s in the same run, 512 rows of 1536 and of 8960 columns: q8_0 72 and 69 %, q5_0 72 and
// 70 %, q4_1 66 and 62 %, q4_k 68 and 67 %, q6_k 68 and 65 %. What bounds them: of a block's 96 vpdpbusd, 12
// conversions, 12 products and 24 fused multiply-adds all but the conversions share two ports, so that a loop
// of these alone, its data in L1, reaches 72 % (79 % without mins). Tried before weights were unpacked: 4
// rows of two vectors (q4_1, q6_k) and 5 (q4_1), within 2 %; 10 rows of one, 3 (q4_1) and 7 % (q6_k) slower.
// q6_k in tiles of 6 rows spills: 61 and 63 %; of 4 rows 63 and 62 %. Chunks of 384, 768 and 2048 KiB: q4_k
// 67, 67 and 63 % at 1536 columns, 58, 63 and 66 % at 8960, where 128 rows (kLeastChunkRows) outgrow them. 8
// rows as one tile of one vector instead of two of 4 rows and two vectors: 298 instead of 267 tokens/s in a
// step of 8 rows of Qwen2.5-Coder 1.5B; 16 rows as two of them 304 instead of 320. Unpacking for 8 rows: 173.
constexpr size_t kChunkBytes = size_t{768} << 10;

struct Dot {
    static constexpr bool kSignedWeights = false;
    static constexpr int kTileRows = 6, kTileVectors = 2, kLoneVectors = 1;
    static constexpr int kTwoGroupRows = 5;
    static constexpr int kFewRows = 8;
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
