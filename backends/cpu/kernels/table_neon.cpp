// What the table gains on a CPU of level neon.
#include "cpu/kernels/kernel_table.h"
#include "cpu/kernels/product_kernels.h"
#include "cpu/kernels/row_kernels.h"

namespace takt::cpu {

void fill_neon(KernelTable& table) {
    // ---- Packed weights and products
    neon::set_quantize(table);
    neon::set_block_matmul(table);
    neon::set_dense_matmul(table);

    // ---- Elementwise and attention
    neon::set_elementwise(table.rows);
    neon::set_attention(table.rows);
}

}  // namespace takt::cpu
