// Rows of float with AVX-512.
#include <immintrin.h>

#include "cpu/kernels/row_kernels.h"

namespace takt::cpu::avx512 {

// In this order: each builds on the one before.
#include "cpu/kernels/vec_avx512.h"

#include "cpu/kernels/lanes_avx512.h"

#include "cpu/kernels/wide.inl.h"

#include "cpu/kernels/elementwise.inl.h"

}  // namespace takt::cpu::avx512
