// Rows of float with AdvSIMD.
#include <arm_neon.h>

#include "cpu/kernels/row_kernels.h"

namespace takt::cpu::neon {

// In this order: each builds on the one before.
#include "cpu/kernels/vec_neon.h"

#include "cpu/kernels/lanes_neon.h"

#include "cpu/kernels/wide.inl.h"

#include "cpu/kernels/elementwise.inl.h"

}  // namespace takt::cpu::neon
