// One block of each type from its values: what encode_row() goes through. `weight` counts each value's error.
#pragma once

#include "tensor/quant_blocks.h"

namespace takt {

void encode_block(const float* x, const float* weight, BlockQ4_0& out);
void encode_block(const float* x, const float* weight, BlockQ4_1& out);
void encode_block(const float* x, const float* weight, BlockQ5_0& out);
void encode_block(const float* x, const float* weight, BlockQ5_1& out);
void encode_block(const float* x, const float* weight, BlockQ8_0& out);
void encode_block(const float* x, const float* weight, BlockQ4K& out);
void encode_block(const float* x, const float* weight, BlockQ5K& out);
void encode_block(const float* x, const float* weight, BlockQ6K& out);

}  // namespace takt
