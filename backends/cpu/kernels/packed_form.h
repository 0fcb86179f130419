// In which form the CPU backend keeps weights of each tensor type, and what that costs in precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cpu/kernels/panel_layout.h"
#include "tensor/dtype.h"

namespace takt::cpu {

enum class Precision : uint8_t {
    exact,           // every element as the format's reference gives it
    scales_rounded,  // the same whole numbers; their scale rounded to float16 where it isn't one: 2^-12 of it
    rounded,         // new whole numbers: half a step of the largest of 32 elements over 127
};
std::string_view precision_name(Precision precision);  // "exact", "scales rounded", "rounded"

struct PackedForm {
    DType source;
    DType stored;  // the type whose kernels run; `source` itself where it has some
    Precision precision;
};
const PackedForm& packed_form(DType dtype);

PackedKind packed_kind(DType dtype);
PanelLayout panel_layout(DType dtype, uint32_t rows, uint32_t cols);

// Bytes that a block adds to each section of a panel, and a super-block to the last one; all 0 for dense
// kinds.
struct SectionBytes {
    size_t quants = 0, high = 0, scales = 0, mins = 0, supers = 0;
};
SectionBytes section_bytes(PackedKind kind);

}  // namespace takt::cpu
