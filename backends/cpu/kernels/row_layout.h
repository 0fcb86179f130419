// Plain layouts of the kernels that work on rows of float and on attention tiles. Like panel_layout.h, it
// holds no function: files compiled for an ISA include it (style guide, section 6).
#pragma once

#include <cstddef>
#include <cstdint>

namespace takt::cpu {

// Lanes that every row kernel computes side by side, whatever the ISA's vectors: sums over a row run in this
// many chains and are merged in one order, so that all ISAs give the same bits.
inline constexpr int kRowLanes = 16;

// Positions of an attention tile: the step of the online softmax, always at multiples of this in absolute
// positions. A tile is made of blocks of kRowLanes positions, each of which lies within one page (or in a
// gathered copy).
inline constexpr uint32_t kTilePositions = 64;
inline constexpr int kTileBlocks = static_cast<int>(kTilePositions) / kRowLanes;

// Rotation of the heads of one row. cosines and sines hold rotated_dim floats: those of the pair that value i
// belongs to, the sine negative for a pair's first value.
struct RopeCall {
    const float* in = nullptr;
    float* out = nullptr;  // may be in
    const float* cosines = nullptr;
    const float* sines = nullptr;
    uint32_t n_heads = 0, head_dim = 0, rotated_dim = 0;
    bool interleaved = false;
};

// What the online softmax keeps of one query: kRowLanes partial sums of the weights, the highest score, then
// the weighted sum of values (value_dim rounded up to whole vectors).
inline constexpr size_t kStateHighest = kRowLanes;
inline constexpr size_t kStateValues = 2 * kRowLanes;

// How keys and values are stored. q8_0: int8 with one float16 scale for kKvBlock dimensions of a position.
enum class KvForm : uint8_t { f16, q8_0, f32 };
inline constexpr uint32_t kKvBlock = 32;

// Whole lines of 64 bytes.
struct KvRange {
    const std::byte* first = nullptr;
    size_t n_lines = 0;
};

// One tile of positions for queries that share a key head and see the same part of the tile. Of 16 positions:
//   keys[b]          elements [key_dim][key_stride]: those of each dimension side by side
//   values[b]        elements [16][value_stride]: rows of value_dim, padded to whole vectors
//   key_scales[b]    q8_0: [key_dim / 32][key_stride]
//   value_scales[b]  q8_0: [16][value_stride / 32]
struct AttentionTile {
    KvForm form = KvForm::f16;
    const std::byte* keys[kTileBlocks] = {};
    const std::byte* values[kTileBlocks] = {};
    const uint16_t* key_scales[kTileBlocks] = {};
    const uint16_t* value_scales[kTileBlocks] = {};
    size_t key_stride[kTileBlocks] = {};  // positions from one dimension to the next
    size_t value_stride = 0;
    KvRange ahead[2 * kTileBlocks];  // what the next tile reads, fetched meanwhile
    int n_ahead = 0;
    uint32_t first = 0, end = 0;  // positions of the tile that are seen
    uint32_t key_dim = 0, value_dim = 0;
    float scale = 0, soft_cap = 0;          // soft_cap 0: none
    const float* const* queries = nullptr;  // [n_queries]
    uint32_t n_queries = 0;
    float* states = nullptr;  // [n_queries][state_stride]
    size_t state_stride = 0;
    float* scores = nullptr;   // scratch [n_queries][kTilePositions + kRowLanes]
    float* widened = nullptr;  // scratch: widened_floats() of cpu_memory.h
};

struct ArgmaxResult {
    float highest = 0;
    uint32_t index = 0;  // the lowest one of the highest
    bool finite = true;  // every value
};

struct RowKernels {
    // out = in / rms(in) * weight, n floats.
    void (*rms_norm)(const float* in, const float* weight, float* out, size_t n, float epsilon);
    void (*rope)(const RopeCall& call);
    void (*silu_gate)(const float* gate, const float* up, float* out, size_t n);
    void (*gelu_tanh_gate)(const float* gate, const float* up, float* out, size_t n);
    void (*add)(const float* a, const float* b, float* out, size_t n);
    void (*scale)(const float* in, float factor, float* out, size_t n);
    void (*soft_cap)(const float* in, float cap, float* out, size_t n);
    void (*to_half)(const float* in, uint16_t* out, size_t n);  // round to nearest even
    // Blocks of kKvBlock values; n is a multiple of it. A block that holds a number that isn't finite has a
    // scale that isn't either.
    void (*to_q8_0)(const float* in, int8_t* out, uint16_t* scales, size_t n);
    ArgmaxResult (*argmax)(const float* x, size_t n);
    // Of whole groups of 128 floats, in as many chains: as fast as memory or a cache gives them. n is rounded
    // down.
    float (*read)(const float* x, size_t n);
    // Adds a tile to the states of its queries. A state of zeros with a highest score of -inf is the start.
    void (*attend)(const AttentionTile& tile);
    // Adds the state of later positions to that of earlier ones.
    void (*merge_states)(float* into, const float* later, uint32_t value_dim);
    // out = weighted sum / sum of weights.
    void (*finish_state)(const float* state, float* out, uint32_t value_dim);
};

}  // namespace takt::cpu
