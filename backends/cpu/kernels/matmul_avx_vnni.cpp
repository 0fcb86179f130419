// Products of packed block weights with AVX-VNNI: one vpdpbusd multiplies four values of 8 rows with four of
// x.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx_vnni {

#include "cpu/kernels/vec_avx2.h"
#include "cpu/kernels/store_output.h"

namespace {

constexpr size_t kChunkBytes = size_t{128} << 10;

struct Dot {
    static constexpr bool kSignedWeights = false;
    static constexpr int kTileRows = 6, kTileVectors = 1;
    static constexpr bool kMatrix = false;
    using Pairs = VecI;
    template <int kBits, int kNth>
    static inline __attribute__((always_inline)) void step(VecI& sum, Pairs&, VecI weights, VecI x) {
        sum = _mm256_dpbusd_avx_epi32(sum, weights, x);
    }
};

}  // namespace

#include "cpu/kernels/matmul_blocks.h"

}  // namespace takt::cpu::avx_vnni
