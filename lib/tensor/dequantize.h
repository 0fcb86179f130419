// Any tensor type to float32, one row at a time, bit for bit what the format's reference gives.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace takt {

// blocks holds row_bytes(dtype, out.size()) bytes; out.size() is a multiple of the block length. No alignment
// is asked of blocks.
void dequantize_row(DType dtype, std::span<const std::byte> blocks, std::span<float> out);

float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);  // round to nearest even
float bf16_to_f32(uint16_t bits);

}  // namespace takt
