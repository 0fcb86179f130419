// Products of packed block weights with AVX-512 VNNI: one vpdpbusd multiplies four values of 16 rows with four of x.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx512_vnni {

#include "cpu/kernels/vec_avx512.h"
#include "cpu/kernels/store_output.h"

namespace {

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
