// Rows of float in plain C++.
#include "cpu/kernels/row_kernels.h"
#include "tensor/dequantize.h"

namespace takt::cpu::scalar {

// In this order: each builds on the one before.
#include "cpu/kernels/lanes_scalar.h"

#include "cpu/kernels/wide.inl.h"

#include "cpu/kernels/elementwise.inl.h"

}  // namespace takt::cpu::scalar
