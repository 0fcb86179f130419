// The one table of what each tensor type runs as, and the panels' layouts.
#include "cpu/kernels/packed_form.h"

#include <array>

namespace takt::cpu {
namespace {

using enum Precision;

// Types without kernels of their own go where their whole numbers fit and their groups share a scale:
// q6_k multiplies a float16 with an int8 a group of 16 and a value from -32 to 31; q8_0 has a float16 for 32.
constexpr PackedForm kForms[] = {
    {DType::q2_k, DType::q8_0, rounded},            // two numbers a group of 16: no kind has both
    {DType::q3_k, DType::q6_k, exact},              // -4 to 3
    {DType::iq1_s, DType::q6_k, scales_rounded},    // -9 to 9 by d / 8
    {DType::iq1_m, DType::q6_k, scales_rounded},    // the same
    {DType::iq2_xxs, DType::q8_0, scales_rounded},  // 8, 25, 43
    {DType::iq2_xs, DType::q8_0, rounded},          // the same, but two scales for 32
    {DType::iq2_s, DType::q8_0, rounded},           // the same
    {DType::iq3_xxs, DType::q6_k, scales_rounded},  // -31 to 31 by d / 2
    {DType::iq3_s, DType::q6_k, exact},             // -15 to 15
    {DType::iq4_nl, DType::q8_0, exact},            // -127 to 113
    {DType::iq4_xs, DType::q8_0, scales_rounded},   // the same by d * scale
    {DType::tq1_0, DType::q4_0, exact},             // -1 to 1
    {DType::tq2_0, DType::q4_0, exact},             // -1 to 2
    {DType::mxfp4, DType::q5_0, scales_rounded},    // -12 to 12 by a power of two
    {DType::nvfp4, DType::q8_0, rounded},           // the same, two scales for 32
    {DType::q1_0, DType::q4_0, exact},              // -1 and 1
    {DType::q2_0, DType::q4_0, exact},              // -1 to 2
    {DType::f32, DType::f32, exact},
    {DType::f16, DType::f16, exact},
    {DType::bf16, DType::bf16, exact},
    {DType::q4_0, DType::q4_0, exact},
    {DType::q4_1, DType::q4_1, exact},
    {DType::q5_0, DType::q5_0, exact},
    {DType::q5_1, DType::q5_1, exact},
    {DType::q8_0, DType::q8_0, exact},
    {DType::q4_k, DType::q4_k, exact},
    {DType::q5_k, DType::q5_k, exact},
    {DType::q6_k, DType::q6_k, exact},
};

}  // namespace

std::string_view precision_name(Precision precision) {
    constexpr std::string_view kNames[] = {"exact", "scales rounded", "rounded"};
    return kNames[static_cast<size_t>(precision)];
}

const PackedForm& packed_form(DType dtype) {
    for (const PackedForm& form : kForms) {
        if (form.source == dtype) return form;
    }
    static constexpr PackedForm kNone = {DType::f32, DType::f32, exact};
    return kNone;  // a DType always has a row
}

PackedKind packed_kind(DType dtype) {
    switch (packed_form(dtype).stored) {
        case DType::q4_0:
            return PackedKind::q4_0;
        case DType::q4_1:
            return PackedKind::q4_1;
        case DType::q5_0:
            return PackedKind::q5_0;
        case DType::q5_1:
            return PackedKind::q5_1;
        case DType::q8_0:
            return PackedKind::q8_0;
        case DType::q4_k:
            return PackedKind::q4_k;
        case DType::q5_k:
            return PackedKind::q5_k;
        case DType::q6_k:
            return PackedKind::q6_k;
        case DType::f16:
            return PackedKind::f16;
        case DType::bf16:
            return PackedKind::bf16;
        default:
            return PackedKind::f32;
    }
}

SectionBytes section_bytes(PackedKind kind) {
    constexpr std::array<SectionBytes, kBlockKinds> kBytes = {{{256, 0, 32, 0, 0},
                                                               {256, 0, 32, 32, 0},
                                                               {256, 64, 32, 0, 0},
                                                               {256, 64, 32, 32, 0},
                                                               {512, 0, 32, 0, 0},
                                                               {256, 0, 16, 16, 64},
                                                               {256, 64, 16, 16, 64},
                                                               {256, 128, 32, 0, 32}}};
    return static_cast<size_t>(kind) < kBlockKinds ? kBytes[static_cast<size_t>(kind)] : SectionBytes();
}

PanelLayout panel_layout(DType dtype, uint32_t rows, uint32_t cols) {
    PanelLayout layout;
    layout.rows = rows;
    layout.cols = cols;
    layout.n_panels = (rows + kPanelRows - 1) / kPanelRows;
    const PackedKind kind = packed_kind(dtype);
    if (static_cast<size_t>(kind) >= kBlockKinds) {
        const size_t bytes = kPanelRows * dtype_info(dtype).block_bytes * size_t{cols};
        layout.panel_bytes = (bytes + 63) / 64 * 64;
        return layout;
    }
    const SectionBytes sizes = section_bytes(kind);
    const size_t n = cols / kBlockValues;
    layout.n_blocks = static_cast<uint32_t>(n);
    layout.high_offset = n * sizes.quants;
    layout.scales_offset = layout.high_offset + n * sizes.high;
    layout.mins_offset = layout.scales_offset + n * sizes.scales;
    layout.supers_offset = layout.mins_offset + n * sizes.mins;
    const size_t bytes = layout.supers_offset + n / kSuperBlocks * sizes.supers;
    layout.panel_bytes = (bytes + 63) / 64 * 64;
    return layout;
}

}  // namespace takt::cpu
