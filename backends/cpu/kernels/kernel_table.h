// The kernels of one ISA level as a struct of function pointers. A backend makes one table at start and calls
// through it alone.
//
// Each level has table_<isa>.cpp with a fill_<isa>(KernelTable&) that sets the entries it has written kernels
// for. A table is filled from scalar upwards, so an entry a level lacks is that of the next slower level the
// machine has. Nothing here
// may be an inline function: this header is included by files compiled for one ISA (style guide, section 6).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/panel_layout.h"
#include "cpu/kernels/row_layout.h"

namespace takt::cpu {

struct KernelTable {
    // ---- Packed weights and products (quantize_*, matmul_*)
    // -------------------------------------------------------- x [layout.cols] to one quantized row.
    void (*quantize_row)(const float* x, const QuantizedLayout& layout, std::byte* out);
    // By PackedKind; any number of rows. Block kinds give the same bits on every ISA.
    void (*matmul[kPackedKinds])(const MatmulCall& call);

    // ---- Elementwise and attention (rms_norm, rope, activation, attention, …)
    // --------------------------------------
    RowKernels rows;  // the same bits on every ISA
};

void fill_scalar(KernelTable& table);
#if defined(__x86_64__) || defined(_M_X64)
void fill_avx2(KernelTable& table);
void fill_avx_vnni(KernelTable& table);
void fill_avx512(KernelTable& table);
void fill_avx512_vnni(KernelTable& table);
#elif defined(__aarch64__)
void fill_neon(KernelTable& table);
void fill_neon_dotprod(KernelTable& table);
void fill_neon_i8mm(KernelTable& table);
#endif

}  // namespace takt::cpu
