// Rows of float with AVX2.
#include <immintrin.h>

#include "cpu/kernels/row_kernels.h"

namespace takt::cpu::avx2 {

// In this order: each builds on the one before.
#include "cpu/kernels/vec_avx2.h"

#include "cpu/kernels/lanes_avx2.h"

#include "cpu/kernels/wide.inl.h"

#include "cpu/kernels/elementwise.inl.h"

}  // namespace takt::cpu::avx2
