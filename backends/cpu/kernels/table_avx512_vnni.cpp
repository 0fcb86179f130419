// What the table gains on a CPU of level avx512_vnni.
#include "cpu/kernels/kernel_table.h"
#include "cpu/kernels/product_kernels.h"

namespace takt::cpu {

void fill_avx512_vnni(KernelTable& table) {
    // ---- Packed weights and products
    avx512_vnni::set_block_matmul(table);

    // ---- Elementwise and attention: those of avx512
}

}  // namespace takt::cpu
