// What the table gains on a CPU of level avx_vnni.
#include "cpu/kernels/kernel_table.h"
#include "cpu/kernels/product_kernels.h"

namespace takt::cpu {

void fill_avx_vnni(KernelTable& table) {
    // ---- Packed weights and products
    avx_vnni::set_block_matmul(table);

    // ---- Elementwise and attention: those of avx2
}

}  // namespace takt::cpu
