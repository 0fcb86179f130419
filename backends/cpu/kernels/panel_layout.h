// Plain layouts shared by the packers and the kernels of every ISA: packed panels, quantized activations, one
// product's call. Files compiled for an ISA include this one, so it holds no function at all (style guide,
// section 6).
#pragma once

#include <cstddef>
#include <cstdint>

namespace takt::cpu {

// Output rows of a panel; lane r of every vector belongs to row panel * kPanelRows + r. The last panel is
// padded with zeros.
inline constexpr uint32_t kPanelRows = 16;
// Values that share a scale of the weights (q6_k: half of it) and of the activations.
inline constexpr uint32_t kBlockValues = 32;
// Blocks of a super-block of the K types: their scales share one factor.
inline constexpr uint32_t kSuperBlocks = 8;

// What the packed panels hold. Index of the tables of kernels.
enum class PackedKind : uint8_t { q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k, f32, f16, bf16 };
inline constexpr size_t kPackedKinds = 11;
inline constexpr size_t kBlockKinds = 8;  // the first of them; the others are dense

// A panel of a block kind is a few sections, each running over all k. Block b stands for values [32 b, 32 b +
// 32) of a row.
//   quants  4-bit kinds: 256 bytes a block, four vectors of 64; byte 4 r + j of vector i holds the low four
//   bits of row r,
//           value 4 i + j in its low nibble and those of value 16 + 4 i + j in its high nibble.
//           q8_0: 512 bytes a block, eight vectors; byte 4 r + j of vector i holds value 4 i + j, plus 128.
//   high    5-bit kinds: 64 bytes a block; bit i of byte 4 r + j is the fifth bit of value 4 i + j.
//           q6_k: two vectors of 64 a block; bits 2 i and 2 i + 1 of byte 4 r + j of vector h are bits 4 and
//           5 of value 16 h + 4 i + j.
//   scales  16 f16 a block, or u8 (q4_k, q5_k), or two groups of 16 i8 (q6_k: values 0 to 15, then 16 to 31).
//   mins    16 f16 a block (q4_1, q5_1: added to the scaled weight), or u8 (q4_k, q5_k: subtracted).
//   supers  K types, a super-block: 16 f16 that multiply the scales, then (q4_k, q5_k) 16 f16 that multiply
//   the mins.
// A panel of a dense kind is [cols][16] values.
struct PanelLayout {
    uint32_t rows = 0, cols = 0;  // of the matrix
    uint32_t n_panels = 0;
    uint32_t n_blocks = 0;   // cols / 32; 0 for dense kinds
    size_t panel_bytes = 0;  // a multiple of 64
    size_t high_offset = 0, scales_offset = 0, mins_offset = 0, supers_offset = 0;  // from the panel's start
};

// One row of activations: int8 values in [-127, 127], then per block of 32 one float scale, scale * sum of
// the values, minus the int32 sum of the values, and minus the int32 sums of its halves (negated, since they
// only ever undo the weights' offset). A block that holds a value that isn't finite has a scale of NaN.
struct QuantizedLayout {
    uint32_t cols = 0, n_blocks = 0;
    size_t row_bytes = 0;  // a multiple of 64
    size_t scales_offset = 0, scaled_sums_offset = 0, minus_sums_offset = 0, minus_half_sums_offset = 0;
};

// Room that a product of many rows wants to unpack a tile's weights: bytes a block of 32 values, of two
// panels: the weights, two floats of scales or a scale and a min.
inline constexpr size_t kUnpackedBlockBytes = 2 * kPanelRows * (kBlockValues + 2 * sizeof(float));

// out[row * out_stride + r] = weights[r] . x[row], for the rows and panels asked for. Pointers are to row 0
// and panel 0.
struct MatmulCall {
    const std::byte* panels = nullptr;
    PanelLayout layout;
    const std::byte* x = nullptr;  // block kinds: quantized rows; dense kinds: rows of float
    size_t x_row_bytes = 0;
    QuantizedLayout x_layout;            // block kinds alone
    uint32_t first_row = 0, n_rows = 0;  // rows of x
    uint32_t first_panel = 0, n_panels = 0;
    float* out = nullptr;
    size_t out_stride = 0;        // floats from one row of out to the next
    const float* bias = nullptr;  // [layout.rows], added last but one
    bool accumulate = false;      // adds what out held, last
    // Block kinds: kUnpackedBlockBytes * layout.n_blocks bytes, 64-byte aligned, of the calling thread alone;
    // nullptr: none, slower for many rows.
    std::byte* scratch = nullptr;
    // Block kinds: weights that this thread is likely to read next, asked for during the last tile; nullptr:
    // none.
    const std::byte* next = nullptr;
};

}  // namespace takt::cpu
