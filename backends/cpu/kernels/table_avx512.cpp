// What the table gains on a CPU of level avx512.
#include "cpu/kernels/kernel_table.h"
#include "cpu/kernels/product_kernels.h"
#include "cpu/kernels/row_kernels.h"

namespace takt::cpu {

void fill_avx512(KernelTable& table) {
    // ---- Packed weights and products
    avx512::set_quantize(table);
    avx512::set_block_matmul(table);
    avx512::set_dense_matmul(table);

    // ---- Elementwise and attention
    avx512::set_elementwise(table.rows);
    avx512::set_attention(table.rows);
}

}  // namespace takt::cpu
