// Products of dense packed weights with AVX2 and FMA.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx2 {

#include "cpu/kernels/vec_avx2.h"
#include "cpu/kernels/store_output.h"

namespace {
constexpr int kDenseRows = 3, kDenseVectors = 4, kLoneVectors = 8;
}  // namespace

#include "cpu/kernels/matmul_dense.h"

}  // namespace takt::cpu::avx2
