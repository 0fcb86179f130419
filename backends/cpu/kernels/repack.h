// Blocks of tensor types that no kernel reads, as blocks of the type they run as (packed_form.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/quant_blocks.h"

namespace takt::cpu {

// At once: the largest source block, and what that takes at most.
inline constexpr uint32_t kRepackedElements = kSuperBlock;
inline constexpr size_t kMostRepackedBytes = kSuperBlock / kSmallBlock * sizeof(BlockQ8_0);
static_assert(kMostRepackedBytes >= sizeof(BlockQ6K));

// n_elements: whole blocks of both types, kRepackedElements at most. `dtype` is one whose stored type is
// another.
void repack(DType dtype, const uint8_t* blocks, uint32_t n_elements, uint8_t* out);

}  // namespace takt::cpu
