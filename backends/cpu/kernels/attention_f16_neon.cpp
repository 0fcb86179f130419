// Attention over float16 keys and values with AdvSIMD.
#include <arm_neon.h>

#include "cpu/kernels/row_kernels.h"

namespace takt::cpu::neon {

// In this order: each builds on the one before.
#include "cpu/kernels/vec_neon.h"

#include "cpu/kernels/lanes_neon.h"

#include "cpu/kernels/wide.inl.h"

namespace {
// Not measured on hardware: sixteen values are four vectors, so 24 of the 32 registers hold sums.
constexpr int kTileQueries = 6, kTileVectors = 1;
}  // namespace

#include "cpu/kernels/attention.inl.h"

}  // namespace takt::cpu::neon
