// Products of packed block weights with AVX-512BW alone: vpmaddubsw and 16-bit sums, which a group of steps
// can't overflow.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx512 {

#include "cpu/kernels/vec_avx512.h"
#include "cpu/kernels/store_output.h"

namespace {

// Zen 5 (EPYC, one thread, November 2026), 512 rows: q4_1 547, q6_k 350, q8_0 331 GOP/s; 6 rows a tile give
// 553, 337, 344.
constexpr size_t kChunkBytes = size_t{384} << 10;

// vpmaddubsw adds two products into 16 bits with saturation. |x| <= 127, so two products of b-bit weights are
// at most 254 * (2^b - 1): 3810, 7874 and 16002 for 4, 5 and 6 bits. Eight, four and two of those stay below
// 32768. 8-bit weights are taken signed: |w| * (x with w's sign), at most 128 * 127 * 2.
struct Dot {
    static constexpr bool kSignedWeights = true;
    static constexpr int kTileRows = 4, kTileVectors = 2, kLoneVectors = 1;
    static constexpr int kTwoGroupRows = 4;
    static constexpr int kFewRows = 0;
    static constexpr bool kMatrix = false;
    static constexpr int kUnpackRows = 24;
    using Pairs = VecI;
    template <int kBits, int kNth>
    static inline __attribute__((always_inline)) void step(VecI& sum, Pairs& pairs, VecI weights, VecI x) {
        constexpr int kFlush = kBits == 4 ? 8 : kBits == 5 ? 4 : kBits == 6 ? 2 : 1;
        VecI product;
        if constexpr (kBits == 8) {
            const VecI signed_x = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(weights), zero_i(), x);
            product = _mm512_maddubs_epi16(_mm512_abs_epi8(weights), signed_x);
        } else {
            product = _mm512_maddubs_epi16(weights, x);
        }
        if constexpr (kNth % kFlush == 0)
            pairs = product;
        else
            pairs = _mm512_add_epi16(pairs, product);
        if constexpr (kNth % kFlush == kFlush - 1)
            sum = add_i(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
    }
};

}  // namespace

#include "cpu/kernels/matmul_blocks.h"

}  // namespace takt::cpu::avx512
