// The quantizers and products of each ISA: what its table_<isa>.cpp puts into the table.
#pragma once

#include "cpu/kernels/kernel_table.h"

namespace takt::cpu {

namespace scalar {
void set_quantize(KernelTable& table);
void set_matmul(KernelTable& table);  // every kind
}  // namespace scalar

namespace avx2 {
void set_quantize(KernelTable& table);
void set_block_matmul(KernelTable& table);
void set_dense_matmul(KernelTable& table);
}  // namespace avx2

namespace avx_vnni {
void set_block_matmul(KernelTable& table);
}  // namespace avx_vnni

namespace avx512 {
void set_quantize(KernelTable& table);
void set_block_matmul(KernelTable& table);
void set_dense_matmul(KernelTable& table);
}  // namespace avx512

namespace avx512_vnni {
void set_block_matmul(KernelTable& table);
}  // namespace avx512_vnni

namespace neon {
void set_quantize(KernelTable& table);
void set_block_matmul(KernelTable& table);
void set_dense_matmul(KernelTable& table);
}  // namespace neon

namespace neon_dotprod {
void set_block_matmul(KernelTable& table);
}  // namespace neon_dotprod

namespace neon_i8mm {
void set_block_matmul(KernelTable& table);
}  // namespace neon_i8mm

}  // namespace takt::cpu
