// Attention over float16 keys and values with AVX2.
#include <immintrin.h>

#include "cpu/kernels/row_kernels.h"

namespace takt::cpu::avx2 {

// In this order: each builds on the one before.
#include "cpu/kernels/vec_avx2.h"

#include "cpu/kernels/lanes_avx2.h"

#include "cpu/kernels/wide.inl.h"

namespace {
constexpr int kTileQueries = 3, kTileVectors = 2;
}  // namespace

#include "cpu/kernels/attention.inl.h"

}  // namespace takt::cpu::avx2
