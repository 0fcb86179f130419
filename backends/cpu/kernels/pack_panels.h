// Between GGUF's blocks and packed panels: what PackedMatrix is made of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/packed_form.h"
#include "cpu/kernels/panel_layout.h"
#include "tensor/dtype.h"

namespace takt::cpu {

// Rows that the packers take at once.
inline constexpr uint32_t kPackedRows = 4;

// Packs n_rows (at most 16) source rows, row_stride bytes apart, into one zero-filled panel. Behind them
// zeros fill up the last kPackedRows.
void pack_panel(DType dtype, const PanelLayout& layout, const std::byte* source, size_t row_stride,
                uint32_t n_rows, std::byte* panel);

// One row of a panel to float32, bit for bit what the format's reference gives for the type that is stored.
void unpack_panel_row(PackedKind kind, const PanelLayout& layout, const std::byte* panel, uint32_t lane,
                      float* out);

}  // namespace takt::cpu
