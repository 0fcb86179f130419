// Attention over float16 keys and values in plain C++.
#include "cpu/kernels/row_kernels.h"
#include "tensor/dequantize.h"

namespace takt::cpu::scalar {

// In this order: each builds on the one before.
#include "cpu/kernels/lanes_scalar.h"

#include "cpu/kernels/wide.inl.h"

namespace {
constexpr int kTileQueries = 1, kTileVectors = 1;
}  // namespace

#include "cpu/kernels/attention.inl.h"

}  // namespace takt::cpu::scalar
