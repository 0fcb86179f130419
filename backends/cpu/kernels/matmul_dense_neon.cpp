// Products of dense packed weights with AdvSIMD.
#include <arm_neon.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::neon {

#include "cpu/kernels/vec_neon.h"
#include "cpu/kernels/store_output.h"

namespace {
// Not measured on hardware: 24 sums, 4 vectors of weights and one of x in 32 registers.
constexpr int kDenseRows = 6, kDenseVectors = 4, kLoneVectors = 8;
}  // namespace

#include "cpu/kernels/matmul_dense.h"

}  // namespace takt::cpu::neon
