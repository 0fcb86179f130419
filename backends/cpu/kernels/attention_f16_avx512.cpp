// Attention over float16 keys and values with AVX-512.
#include <immintrin.h>

#include "cpu/kernels/row_kernels.h"

namespace takt::cpu::avx512 {

// In this order: each builds on the one before.
#include "cpu/kernels/vec_avx512.h"

#include "cpu/kernels/lanes_avx512.h"

#include "cpu/kernels/wide.inl.h"

namespace {
constexpr int kTileQueries = 6, kTileVectors = 4;
}  // namespace

#include "cpu/kernels/attention.inl.h"

}  // namespace takt::cpu::avx512
