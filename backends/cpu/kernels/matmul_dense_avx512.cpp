// Products of dense packed weights with AVX-512.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx512 {

#include "cpu/kernels/vec_avx512.h"
#include "cpu/kernels/store_output.h"

namespace {
constexpr int kDenseRows = 6, kDenseVectors = 4, kLoneVectors = 8;
}  // namespace

#include "cpu/kernels/matmul_dense.h"

}  // namespace takt::cpu::avx512
