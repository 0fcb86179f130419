// Packs GGUF's blocks into panels: nibbles, high bits and scales of 16 rows side by side. Layouts:
// panel_layout.h.
#include "cpu/kernels/pack_panels.h"

#include <array>
#include <cstring>

namespace takt::cpu {
namespace {

uint32_t load32(const uint8_t* p) {
    uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
}
void store32(uint8_t* p, uint32_t v) {
    std::memcpy(p, &v, 4);
}

// One row's places in a panel's sections.
struct Sections {
    uint8_t* quants;
    uint8_t* high;
    uint8_t* scales;
    uint8_t* mins;
    uint8_t* supers;
};

// Bit i of byte j of the result is bit 4 i + j of `bits`.
uint32_t interleave_high_bits(uint32_t bits) {
    uint32_t out = 0;
    for (uint32_t j = 0; j < 4; ++j) {
        uint32_t x = (bits >> j) & 0x11111111u;  // every fourth bit, then squeezed together
        x = (x | x >> 3) & 0x03030303u;
        x = (x | x >> 6) & 0x000f000fu;
        x = (x | x >> 12) & 0xffu;
        out |= x << (8 * j);
    }
    return out;
}

// q4_0, q4_1, q5_0, q5_1: 16 bytes of nibbles in the panel's own order, behind f16 d, [f16 m], [32 high
// bits].
template <bool kMin, bool kHigh>
void pack_small_blocks(const uint8_t* row, uint32_t n_blocks, const Sections& to) {
    constexpr size_t kBlockBytes = 2 + 2 * kMin + 4 * kHigh + 16;
    for (uint32_t b = 0; b < n_blocks; ++b, row += kBlockBytes) {
        const uint8_t* from = row + 2;
        std::memcpy(to.scales + 32 * size_t{b}, row, 2);
        if constexpr (kMin) {
            std::memcpy(to.mins + 32 * size_t{b}, from, 2);
            from += 2;
        }
        if constexpr (kHigh) {
            store32(to.high + 64 * size_t{b}, interleave_high_bits(load32(from)));
            from += 4;
        }
        for (uint32_t i = 0; i < 4; ++i) store32(to.quants + 256 * size_t{b} + 64 * i, load32(from + 4 * i));
    }
}

void pack_q8_0(const uint8_t* row, uint32_t n_blocks, const Sections& to) {
    for (uint32_t b = 0; b < n_blocks; ++b, row += 34) {
        std::memcpy(to.scales + 32 * size_t{b}, row, 2);
        for (uint32_t i = 0; i < 8; ++i) {
            store32(to.quants + 512 * size_t{b} + 64 * i, load32(row + 2 + 4 * i) ^ 0x80808080u);
        }
    }
}

// Eight 6-bit scales and mins of a q4_k or q5_k super-block, from their 12 bytes.
void unpack_k_scales(const uint8_t* packed, std::array<uint8_t, 8>& scales, std::array<uint8_t, 8>& mins) {
    for (uint32_t j = 0; j < 4; ++j) {
        scales[j] = packed[j] & 63;
        mins[j] = packed[j + 4] & 63;
        scales[j + 4] = static_cast<uint8_t>((packed[j + 8] & 15) | (packed[j] >> 6) << 4);
        mins[j + 4] = static_cast<uint8_t>(packed[j + 8] >> 4 | (packed[j + 4] >> 6) << 4);
    }
}

// Nibbles of a block: value v in the low one of byte v, value 16 + v in the high one, from nibbles `shift`
// bits up in 32 bytes.
void pack_nibbles(const uint8_t* from, uint32_t shift, uint8_t* quants) {
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t low = (load32(from + 4 * i) >> shift) & 0x0f0f0f0fu;
        const uint32_t high = (load32(from + 16 + 4 * i) >> shift) & 0x0f0f0f0fu;
        store32(quants + 64 * i, low | high << 4);
    }
}

// f16 d, f16 dmin, 12 bytes of scales, [32 bytes of fifth bits, bit s for block s], 128 bytes of nibbles.
template <bool kHigh>
void pack_k_blocks(const uint8_t* row, uint32_t n_blocks, const Sections& to) {
    std::array<uint8_t, 8> scales, mins;
    for (uint32_t b = 0; b < n_blocks; b += kSuperBlocks, row += kHigh ? 176 : 144) {
        const uint8_t* high = row + 16;
        const uint8_t* nibbles = kHigh ? high + 32 : high;
        std::memcpy(to.supers + 64 * size_t{b / kSuperBlocks}, row, 2);
        std::memcpy(to.supers + 64 * size_t{b / kSuperBlocks} + 32, row + 2, 2);
        unpack_k_scales(row + 4, scales, mins);
        for (uint32_t s = 0; s < kSuperBlocks; ++s) {
            const size_t block = b + s;
            to.scales[16 * block] = scales[s];
            to.mins[16 * block] = mins[s];
            pack_nibbles(nibbles + 32 * (s / 2), 4 * (s % 2), to.quants + 256 * block);
            if constexpr (kHigh) {
                uint32_t bits = 0;
                for (uint32_t i = 0; i < 8; ++i) bits |= ((load32(high + 4 * i) >> s) & 0x01010101u) << i;
                store32(to.high + 64 * block, bits);
            }
        }
    }
}

// 128 bytes of low nibbles, 64 of high bit pairs, 16 i8 scales, f16 d.
void pack_q6_k(const uint8_t* row, uint32_t n_blocks, const Sections& to) {
    for (uint32_t b = 0; b < n_blocks; b += kSuperBlocks, row += 210) {
        std::memcpy(to.supers + 32 * size_t{b / kSuperBlocks}, row + 208, 2);
        for (uint32_t s = 0; s < kSuperBlocks; ++s) {
            const size_t block = b + s;
            const uint32_t half = s / 4, quarter = s % 4;  // of 128 and of 32 values
            to.scales[32 * block] = row[192 + 2 * s];
            to.scales[32 * block + 16] = row[192 + 2 * s + 1];
            pack_nibbles(row + 64 * half + 32 * (quarter % 2), 4 * (quarter / 2), to.quants + 256 * block);
            const uint8_t* pairs = row + 128 + 32 * half;
            for (uint32_t h = 0; h < 2; ++h) {
                uint32_t bits = 0;
                for (uint32_t i = 0; i < 4; ++i) {
                    bits |= ((load32(pairs + 16 * h + 4 * i) >> (2 * quarter)) & 0x03030303u) << (2 * i);
                }
                store32(to.high + 128 * block + 64 * h, bits);
            }
        }
    }
}

template <size_t kBytes>
void pack_dense(const uint8_t* row, uint32_t cols, uint8_t* panel_lane) {
    for (size_t k = 0; k < cols; ++k)
        std::memcpy(panel_lane + k * kPanelRows * kBytes, row + k * kBytes, kBytes);
}

void pack_row(DType dtype, const PanelLayout& layout, const uint8_t* row, uint32_t lane, uint8_t* panel) {
    const size_t scale_bytes = dtype == DType::q4_k || dtype == DType::q5_k || dtype == DType::q6_k ? 1 : 2;
    const Sections to = {panel + 4 * lane, panel + layout.high_offset + 4 * lane,
                         panel + layout.scales_offset + scale_bytes * lane,
                         panel + layout.mins_offset + scale_bytes * lane,
                         panel + layout.supers_offset + 2 * lane};
    switch (dtype) {
        case DType::q4_0:
            return pack_small_blocks<false, false>(row, layout.n_blocks, to);
        case DType::q4_1:
            return pack_small_blocks<true, false>(row, layout.n_blocks, to);
        case DType::q5_0:
            return pack_small_blocks<false, true>(row, layout.n_blocks, to);
        case DType::q5_1:
            return pack_small_blocks<true, true>(row, layout.n_blocks, to);
        case DType::q8_0:
            return pack_q8_0(row, layout.n_blocks, to);
        case DType::q4_k:
            return pack_k_blocks<false>(row, layout.n_blocks, to);
        case DType::q5_k:
            return pack_k_blocks<true>(row, layout.n_blocks, to);
        case DType::q6_k:
            return pack_q6_k(row, layout.n_blocks, to);
        case DType::f32:
            return pack_dense<4>(row, layout.cols, panel + 4 * lane);
        case DType::f16:
        case DType::bf16:
            return pack_dense<2>(row, layout.cols, panel + 2 * lane);
    }
}

}  // namespace

PackedKind packed_kind(DType dtype) {
    switch (dtype) {
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
        case DType::f32:
            break;
    }
    return PackedKind::f32;
}

PanelLayout panel_layout(DType dtype, uint32_t rows, uint32_t cols) {
    // Bytes a block of a panel: quants, high, scales, mins; then those of a super-block.
    struct Sizes {
        size_t quants, high, scales, mins, supers;
    };
    constexpr std::array<Sizes, kBlockKinds> kSizes = {{{256, 0, 32, 0, 0},
                                                        {256, 0, 32, 32, 0},
                                                        {256, 64, 32, 0, 0},
                                                        {256, 64, 32, 32, 0},
                                                        {512, 0, 32, 0, 0},
                                                        {256, 0, 16, 16, 64},
                                                        {256, 64, 16, 16, 64},
                                                        {256, 128, 32, 0, 32}}};
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
    const Sizes& sizes = kSizes[static_cast<size_t>(kind)];
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

void pack_panel(DType dtype, const PanelLayout& layout, const std::byte* source, size_t row_stride,
                uint32_t n_rows, std::byte* panel) {
    for (uint32_t lane = 0; lane < n_rows; ++lane) {
        pack_row(dtype, layout, reinterpret_cast<const uint8_t*>(source + lane * row_stride), lane,
                 reinterpret_cast<uint8_t*>(panel));
    }
}

}  // namespace takt::cpu
