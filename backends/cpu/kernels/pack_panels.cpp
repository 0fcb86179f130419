// Packs GGUF's blocks into panels: nibbles, high bits and scales of 16 rows side by side. Layouts:
// panel_layout.h.
#include "cpu/kernels/pack_panels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cpu/kernels/repack.h"

namespace takt::cpu {
namespace {

uint32_t load32(const uint8_t* p) {
    uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
}

// Four rows at once: a vector holds the same four bytes of each, as a panel does.
constexpr uint32_t kLanes = kPackedRows;
static_assert(kLanes == 4);
using Lanes = uint32_t __attribute__((vector_size(16)));
// Where four rows of the source begin.
using Rows = std::array<const uint8_t*, kLanes>;

Lanes load_lanes(const uint8_t* p) {
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
void store_lanes(uint8_t* p, Lanes v) {
    std::memcpy(p, &v, sizeof v);
}

// Sixteen bytes of each row, at `offset`; out[i] holds bytes 4 i to 4 i + 3 of them.
std::array<Lanes, 4> load_rows(const Rows& rows, size_t offset) {
    const Lanes a = load_lanes(rows[0] + offset), b = load_lanes(rows[1] + offset);
    const Lanes c = load_lanes(rows[2] + offset), d = load_lanes(rows[3] + offset);
    const Lanes ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Lanes ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Lanes cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Lanes cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
            __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
            __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
            __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
}

// The places of four rows in a panel's sections.
struct Sections {
    uint8_t* quants;
    uint8_t* high;
    uint8_t* scales;
    uint8_t* mins;
    uint8_t* supers;
};

void copy_half(uint8_t* lanes, uint32_t lane, const uint8_t* from) {
    std::memcpy(lanes + 2 * size_t{lane}, from, 2);
}

// Bit i of byte j of the result is bit 4 i + j of `bits`.
Lanes interleave_high_bits(Lanes bits) {
    Lanes out = {};
    for (uint32_t j = 0; j < 4; ++j) {
        Lanes x = (bits >> j) & 0x11111111u;  // every fourth bit, then squeezed together
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
void pack_small_blocks(const Rows& rows, uint32_t n_blocks, const Sections& to) {
    constexpr size_t kHighAt = 2 + 2 * kMin, kNibblesAt = kHighAt + 4 * kHigh, kBlockBytes = kNibblesAt + 16;
    for (size_t b = 0; b < n_blocks; ++b) {
        const size_t at = b * kBlockBytes;
        Lanes high = {};
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            const uint8_t* block = rows[lane] + at;
            copy_half(to.scales + 32 * b, lane, block);
            if constexpr (kMin) copy_half(to.mins + 32 * b, lane, block + 2);
            if constexpr (kHigh) high[lane] = load32(block + kHighAt);
        }
        if constexpr (kHigh) store_lanes(to.high + 64 * b, interleave_high_bits(high));
        const std::array<Lanes, 4> nibbles = load_rows(rows, at + kNibblesAt);
        for (size_t i = 0; i < 4; ++i) store_lanes(to.quants + 256 * b + 64 * i, nibbles[i]);
    }
}

void pack_q8_0(const Rows& rows, uint32_t n_blocks, const Sections& to) {
    for (size_t b = 0; b < n_blocks; ++b) {
        const size_t at = b * 34;
        for (uint32_t lane = 0; lane < kLanes; ++lane) copy_half(to.scales + 32 * b, lane, rows[lane] + at);
        for (size_t half = 0; half < 2; ++half) {
            const std::array<Lanes, 4> quants = load_rows(rows, at + 2 + 16 * half);
            for (size_t i = 0; i < 4; ++i)
                store_lanes(to.quants + 512 * b + 256 * half + 64 * i, quants[i] ^ 0x80808080u);
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

// 32 bytes of each row, at `offset`, hold the nibbles of two blocks, the first in their low halves. Packed,
// value v of a block lies in the low half of byte v and value 16 + v in its high half.
void pack_nibbles(const Rows& rows, size_t offset, uint8_t* first, uint8_t* second) {
    const std::array<Lanes, 4> a = load_rows(rows, offset), b = load_rows(rows, offset + 16);
    for (size_t i = 0; i < 4; ++i) {
        store_lanes(first + 64 * i, (a[i] & 0x0f0f0f0fu) | (b[i] & 0x0f0f0f0fu) << 4);
        store_lanes(second + 64 * i, (a[i] >> 4 & 0x0f0f0f0fu) | (b[i] & 0xf0f0f0f0u));
    }
}

// f16 d, f16 dmin, 12 bytes of scales, [32 bytes of fifth bits, bit s for block s], 128 bytes of nibbles.
template <bool kHigh>
void pack_k_blocks(const Rows& rows, uint32_t n_blocks, const Sections& to) {
    constexpr size_t kHighAt = 16, kNibblesAt = kHighAt + 32 * kHigh, kSuperBytes = kNibblesAt + 128;
    std::array<uint8_t, 8> scales, mins;
    for (size_t super = 0; super < n_blocks / kSuperBlocks; ++super) {
        const size_t at = super * kSuperBytes, first_block = super * kSuperBlocks;
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            const uint8_t* row = rows[lane] + at;
            copy_half(to.supers + 64 * super, lane, row);
            copy_half(to.supers + 64 * super + 32, lane, row + 2);
            unpack_k_scales(row + 4, scales, mins);
            for (uint32_t s = 0; s < kSuperBlocks; ++s) {
                to.scales[16 * (first_block + s) + lane] = scales[s];
                to.mins[16 * (first_block + s) + lane] = mins[s];
            }
        }
        for (size_t s = 0; s < kSuperBlocks; s += 2) {
            uint8_t* quants = to.quants + 256 * (first_block + s);
            pack_nibbles(rows, at + kNibblesAt + 16 * s, quants, quants + 256);
        }
        if constexpr (kHigh) {
            const std::array<Lanes, 4> low = load_rows(rows, at + kHighAt),
                                       high = load_rows(rows, at + kHighAt + 16);
            for (uint32_t s = 0; s < kSuperBlocks; ++s) {
                Lanes bits = {};
                for (uint32_t i = 0; i < 8; ++i)
                    bits |= ((i < 4 ? low[i] : high[i - 4]) >> s & 0x01010101u) << i;
                store_lanes(to.high + 64 * (first_block + s), bits);
            }
        }
    }
}

// 128 bytes of low nibbles, 64 of high bit pairs, 16 i8 scales, f16 d.
void pack_q6_k(const Rows& rows, uint32_t n_blocks, const Sections& to) {
    for (size_t super = 0; super < n_blocks / kSuperBlocks; ++super) {
        const size_t at = super * 210, first_block = super * kSuperBlocks;
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            const uint8_t* row = rows[lane] + at;
            copy_half(to.supers + 32 * super, lane, row + 208);
            for (uint32_t s = 0; s < 2 * kSuperBlocks; ++s)
                to.scales[16 * (2 * first_block + s) + lane] = row[192 + s];
        }
        for (size_t half = 0; half < 2; ++half) {  // of 128 values: four blocks
            const size_t block = first_block + 4 * half;
            for (size_t i = 0; i < 2; ++i) {
                uint8_t* quants = to.quants + 256 * (block + i);
                pack_nibbles(rows, at + 64 * half + 32 * i, quants, quants + 512);
            }
            for (size_t h = 0; h < 2; ++h) {
                const std::array<Lanes, 4> pairs = load_rows(rows, at + 128 + 32 * half + 16 * h);
                for (uint32_t quarter = 0; quarter < 4; ++quarter) {
                    Lanes bits = {};
                    for (uint32_t i = 0; i < 4; ++i)
                        bits |= (pairs[i] >> (2 * quarter) & 0x03030303u) << (2 * i);
                    store_lanes(to.high + 128 * (block + quarter) + 64 * h, bits);
                }
            }
        }
    }
}

template <size_t kBytes>
void pack_dense(const Rows& rows, uint32_t cols, uint8_t* panel_lanes) {
    for (size_t k = 0; k < cols; ++k) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            std::memcpy(panel_lanes + (k * kPanelRows + lane) * kBytes, rows[lane] + k * kBytes, kBytes);
        }
    }
}

// n_elements of four rows, in the type that the panel holds.
void pack_stored(DType stored, const Rows& rows, uint32_t n_elements, const Sections& to) {
    const uint32_t n_blocks = n_elements / kBlockValues;
    switch (packed_kind(stored)) {
        case PackedKind::q4_0:
            return pack_small_blocks<false, false>(rows, n_blocks, to);
        case PackedKind::q4_1:
            return pack_small_blocks<true, false>(rows, n_blocks, to);
        case PackedKind::q5_0:
            return pack_small_blocks<false, true>(rows, n_blocks, to);
        case PackedKind::q5_1:
            return pack_small_blocks<true, true>(rows, n_blocks, to);
        case PackedKind::q8_0:
            return pack_q8_0(rows, n_blocks, to);
        case PackedKind::q4_k:
            return pack_k_blocks<false>(rows, n_blocks, to);
        case PackedKind::q5_k:
            return pack_k_blocks<true>(rows, n_blocks, to);
        case PackedKind::q6_k:
            return pack_q6_k(rows, n_blocks, to);
        case PackedKind::f32:
            return pack_dense<4>(rows, n_elements, to.quants);
        case PackedKind::f16:
        case PackedKind::bf16:
            return pack_dense<2>(rows, n_elements, to.quants);
    }
}

Sections sections_of(const PanelLayout& layout, PackedKind kind, uint32_t lane, uint8_t* panel) {
    const bool small_scales =
        kind == PackedKind::q4_k || kind == PackedKind::q5_k || kind == PackedKind::q6_k;
    const size_t scale_bytes = small_scales ? 1 : 2;
    const size_t lane_bytes = kind == PackedKind::f16 || kind == PackedKind::bf16 ? 2 : 4;
    return {panel + lane_bytes * lane, panel + layout.high_offset + 4 * lane,
            panel + layout.scales_offset + scale_bytes * lane,
            panel + layout.mins_offset + scale_bytes * lane, panel + layout.supers_offset + 2 * lane};
}

// Rows of a type that no kernel reads, a super-block's length at a time.
void pack_repacked(DType dtype, const PanelLayout& layout, Rows rows, Sections to) {
    const DType stored = packed_form(dtype).stored;
    const SectionBytes bytes = section_bytes(packed_kind(stored));
    std::array<std::array<uint8_t, kMostRepackedBytes>, kLanes> blocks;
    for (uint32_t done = 0; done < layout.cols; done += kRepackedElements) {
        const uint32_t n = std::min(kRepackedElements, layout.cols - done);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            repack(dtype, rows[lane], n, blocks[lane].data());
            rows[lane] += row_bytes(dtype, n);
        }
        pack_stored(stored, {blocks[0].data(), blocks[1].data(), blocks[2].data(), blocks[3].data()}, n, to);
        const size_t n_blocks = n / kBlockValues;
        to.quants += n_blocks * bytes.quants;
        to.high += n_blocks * bytes.high;
        to.scales += n_blocks * bytes.scales;
        to.mins += n_blocks * bytes.mins;
        to.supers += n_blocks / kSuperBlocks * bytes.supers;
    }
}

}  // namespace

void pack_panel(DType dtype, const PanelLayout& layout, const std::byte* source, size_t row_stride,
                uint32_t n_rows, std::byte* panel) {
    const auto* row = reinterpret_cast<const uint8_t*>(source);
    const DType stored = packed_form(dtype).stored;
    for (uint32_t lane = 0; lane < n_rows; lane += kPackedRows, row += kPackedRows * row_stride) {
        const Rows rows = {row, row + row_stride, row + 2 * row_stride, row + 3 * row_stride};
        const Sections to = sections_of(layout, packed_kind(stored), lane, reinterpret_cast<uint8_t*>(panel));
        if (stored == dtype)
            pack_stored(dtype, rows, layout.cols, to);
        else
            pack_repacked(dtype, layout, rows, to);
    }
}

}  // namespace takt::cpu
