// The scalar table: every entry, in plain C++.
#include "cpu/kernels/kernel_table.h"
#include "cpu/kernels/product_kernels.h"
#include "cpu/kernels/row_kernels.h"

namespace takt::cpu {

void fill_scalar(KernelTable& table) {
    // ---- Packed weights and products
    scalar::set_quantize(table);
    scalar::set_matmul(table);

    // ---- Elementwise and attention
    scalar::set_elementwise(table.rows);
    scalar::set_attention(table.rows);
}

}  // namespace takt::cpu
