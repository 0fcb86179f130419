// Dense products of many rows through oneDNN, for the weight types and instruction sets where it was measured
// to be faster.
#pragma once

#include <cstdint>

#include "cpu/cpu_features.h"
#include "cpu/kernels/packed_matrix.h"

namespace takt::cpu {

// Whether oneDNN multiplies on AMX tiles here: the CPU has them, and the operating system lets this process.
bool onednn_has_amx();

// Off until a machine with AMX has run its path.
inline constexpr bool kUseAmx = false;

// Rows of one product from which oneDNN is called; 0: never.
uint32_t onednn_least_rows(IsaLevel level, PackedKind kind, bool amx = kUseAmx && onednn_has_amx());

// Floats of scratch that a call needs for a matrix of that many columns.
constexpr uint64_t onednn_scratch_floats(uint32_t columns) {
    return uint64_t{128} * columns;
}

// The same as matmul_dense(), on the calling thread alone, but a row's last bits may depend on how many rows
// there are, and beside bf16 weights x is rounded to bf16, which the CPU's units for that type read. Where
// oneDNN fails the own kernel takes its place.
void onednn_multiply(const KernelTable& kernels, const PackedMatrix& matrix, const float* x, size_t x_stride,
                     uint32_t first_row, uint32_t n_rows, uint32_t first_panel, uint32_t n_panels, float* out,
                     size_t out_stride, const MatmulOptions& options, float* scratch);

}  // namespace takt::cpu
