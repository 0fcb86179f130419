// The row and attention kernels of each ISA: what its table_<isa>.cpp puts into the table.
#pragma once

#include "cpu/kernels/row_layout.h"

namespace takt::cpu {

namespace scalar {
void set_elementwise(RowKernels& rows);
void set_attention(RowKernels& rows);
}  // namespace scalar

namespace avx2 {
void set_elementwise(RowKernels& rows);
void set_attention(RowKernels& rows);
}  // namespace avx2

namespace avx512 {
void set_elementwise(RowKernels& rows);
void set_attention(RowKernels& rows);
}  // namespace avx512

namespace neon {
void set_elementwise(RowKernels& rows);
void set_attention(RowKernels& rows);
}  // namespace neon

}  // namespace takt::cpu
