// Rows of float32 in a tensor type: the way back from dequantize_row().
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "tensor/dtype.h"

namespace takt {

// f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k and q6_k.
bool can_encode(DType dtype);

// values: whole blocks, all finite and within float16's range where the type has float16 scales (see
// largest_value). importance: how much the error of each value's square counts, as many as values, not
// negative; or empty: all alike. out: row_bytes(dtype, values.size()).
void encode_row(DType dtype, std::span<const float> values, std::span<const float> importance,
                std::span<std::byte> out);

// Of a magnitude that the type can take.
float largest_value(DType dtype);

}  // namespace takt
