// What the table gains on a CPU of level avx2.
#include "cpu/kernels/kernel_table.h"
#include "cpu/kernels/product_kernels.h"
#include "cpu/kernels/row_kernels.h"

namespace takt::cpu {

void fill_avx2(KernelTable& table) {
    // ---- Packed weights and products
    avx2::set_quantize(table);
    avx2::set_block_matmul(table);
    avx2::set_dense_matmul(table);

    // ---- Elementwise and attention
    avx2::set_elementwise(table.rows);
    avx2::set_attention(table.rows);
}

}  // namespace takt::cpu
