// Attention over float16 keys and values with AVX2.
#include <immintrin.h>

#include "cpu/kernels/row_kernels.h"

namespace takt::cpu::avx2 {

// In this order: each builds on the one before.
#include "cpu/kernels/vec_avx2.h"

#include "cpu/kernels/lanes_avx2.h"

#include "cpu/kernels/wide.inl.h"

namespace {
// Of 16 registers twelve hold sums. 3 x 2 with the same twelve spills and converts each key twice as often:
// 65 against 117 GFLOP/s (48 queries of 128 dimensions, one Zen 5 core, 2026-11).
constexpr int kTileQueries = 6, kTileVectors = 1;
}  // namespace

#include "cpu/kernels/attention.inl.h"

}  // namespace takt::cpu::avx2
