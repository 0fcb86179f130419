// What the table gains on a CPU of level neon_i8mm.
#include "cpu/kernels/kernel_table.h"
#include "cpu/kernels/product_kernels.h"

namespace takt::cpu {

void fill_neon_i8mm(KernelTable& table) {
    // ---- Packed weights and products
    neon_i8mm::set_block_matmul(table);

    // ---- Elementwise and attention: those of neon
}

}  // namespace takt::cpu
