// Products of packed weights in plain C++: the slow sibling of every ISA's kernels, and what their self-tests
// compare with.
#include <cmath>
#include <cstring>

#include "cpu/kernels/pack_panels.h"
#include "cpu/kernels/product_kernels.h"
#include "tensor/dequantize.h"

namespace takt::cpu::scalar {
namespace {

constexpr bool has_fifth_bit(PackedKind kind) {
    return kind == PackedKind::q5_0 || kind == PackedKind::q5_1 || kind == PackedKind::q5_k;
}
constexpr bool has_super_mins(PackedKind kind) {
    return kind == PackedKind::q4_k || kind == PackedKind::q5_k;
}
constexpr bool has_mins(PackedKind kind) {
    return kind == PackedKind::q4_1 || kind == PackedKind::q5_1 || has_super_mins(kind);
}
constexpr int offset_of(PackedKind kind) {
    return kind == PackedKind::q4_0   ? 8
           : kind == PackedKind::q5_0 ? 16
           : kind == PackedKind::q6_k ? 32
           : kind == PackedKind::q8_0 ? 128
                                      : 0;
}

float half_at(const uint8_t* p) {
    uint16_t bits;
    std::memcpy(&bits, p, 2);
    return f16_to_f32(bits);
}

// The 32 unsigned integers of one lane of a block.
template <PackedKind kKind>
void load_quants(const uint8_t* panel, const PanelLayout& layout, size_t block, uint32_t lane,
                 uint8_t (&out)[kBlockValues]) {
    if constexpr (kKind == PackedKind::q8_0) {
        for (uint32_t i = 0; i < 8; ++i) std::memcpy(out + 4 * i, panel + 512 * block + 64 * i + 4 * lane, 4);
        return;
    }
    for (uint32_t v = 0; v < 16; ++v) {
        const uint32_t nibbles = panel[256 * block + 64 * (v / 4) + 4 * lane + v % 4];
        out[v] = nibbles & 15;
        out[16 + v] = static_cast<uint8_t>(nibbles >> 4);
    }
    const uint8_t* high = panel + layout.high_offset;
    if constexpr (has_fifth_bit(kKind)) {
        for (uint32_t v = 0; v < kBlockValues; ++v) {
            out[v] =
                static_cast<uint8_t>(out[v] | ((high[64 * block + 4 * lane + v % 4] >> (v / 4)) & 1) << 4);
        }
    }
    if constexpr (kKind == PackedKind::q6_k) {
        for (uint32_t v = 0; v < kBlockValues; ++v) {
            const uint32_t pairs = high[128 * block + 64 * (v / 16) + 4 * lane + v % 4];
            out[v] = static_cast<uint8_t>(out[v] | ((pairs >> (2 * (v % 16 / 4))) & 3) << 4);
        }
    }
}

struct Scales {
    float scale[2];
    float min;
};

template <PackedKind kKind>
Scales load_scales(const uint8_t* panel, const PanelLayout& layout, size_t block, uint32_t lane) {
    const uint8_t* scales = panel + layout.scales_offset;
    const uint8_t* mins = panel + layout.mins_offset;
    const uint8_t* supers = panel + layout.supers_offset;
    const size_t super = block / kSuperBlocks;
    if constexpr (has_super_mins(kKind)) {
        const float scale =
            half_at(supers + 64 * super + 2 * lane) * static_cast<float>(scales[16 * block + lane]);
        return {
            {scale, scale},
            -(half_at(supers + 64 * super + 32 + 2 * lane) * static_cast<float>(mins[16 * block + lane]))};
    } else if constexpr (kKind == PackedKind::q6_k) {
        const float d = half_at(supers + 32 * super + 2 * lane);
        return {{d * static_cast<float>(static_cast<int8_t>(scales[32 * block + lane])),
                 d * static_cast<float>(static_cast<int8_t>(scales[32 * block + 16 + lane]))},
                0};
    } else {
        const float scale = half_at(scales + 32 * block + 2 * lane);
        return {{scale, scale}, has_mins(kKind) ? half_at(mins + 32 * block + 2 * lane) : 0};
    }
}

void finish(const MatmulCall& call, size_t row, size_t output, float sum) {
    float* out = call.out + row * call.out_stride + output;
    if (call.bias != nullptr) sum += call.bias[output];
    *out = call.accumulate ? *out + sum : sum;
}

// Every ISA computes a block like this, lane by lane: exact int32 sums, then one chain of fused multiply-adds
// over k.
template <PackedKind kKind>
float block_product(const uint8_t (&w)[kBlockValues], const Scales& scales, const MatmulCall& call,
                    const std::byte* x, size_t block, float sum) {
    const auto* values = reinterpret_cast<const int8_t*>(x) + kBlockValues * block;
    const auto* x_scales = reinterpret_cast<const float*>(x + call.x_layout.scales_offset);
    constexpr uint32_t kGroup =
        kKind == PackedKind::q6_k ? 16 : 32;  // values that share a scale of the weights
    float part = 0;
    for (uint32_t first = 0; first < kBlockValues; first += kGroup) {
        int32_t dot = 0;
        for (uint32_t i = first; i < first + kGroup; ++i)
            dot += (static_cast<int32_t>(w[i]) - offset_of(kKind)) * values[i];
        const float scale = scales.scale[first / 16];
        part = first == 0 ? scale * static_cast<float>(dot) : std::fma(scale, static_cast<float>(dot), part);
    }
    sum = std::fma(part, x_scales[block], sum);
    if constexpr (has_mins(kKind)) {
        sum = std::fma(scales.min,
                       reinterpret_cast<const float*>(x + call.x_layout.scaled_sums_offset)[block], sum);
    }
    return sum;
}

constexpr uint32_t kTileRows = 8;  // rows of x that share an unpacked block

template <PackedKind kKind>
void matmul_blocks(const MatmulCall& call) {
    const size_t first = size_t{call.first_panel} * kPanelRows;
    const size_t all = first + size_t{call.n_panels} * kPanelRows;
    const size_t end = all < call.layout.rows ? all : call.layout.rows;
    for (uint32_t tile = 0; tile < call.n_rows; tile += kTileRows) {
        const uint32_t n = call.n_rows - tile < kTileRows ? call.n_rows - tile : kTileRows;
        for (size_t output = first; output < end; ++output) {
            const auto* panel =
                reinterpret_cast<const uint8_t*>(call.panels + output / kPanelRows * call.layout.panel_bytes);
            const auto lane = static_cast<uint32_t>(output % kPanelRows);
            float sums[kTileRows] = {};
            for (size_t block = 0; block < call.layout.n_blocks; ++block) {
                uint8_t w[kBlockValues];
                load_quants<kKind>(panel, call.layout, block, lane, w);
                const Scales scales = load_scales<kKind>(panel, call.layout, block, lane);
                for (uint32_t t = 0; t < n; ++t) {
                    const std::byte* x = call.x + (size_t{call.first_row} + tile + t) * call.x_row_bytes;
                    sums[t] = block_product<kKind>(w, scales, call, x, block, sums[t]);
                }
            }
            for (uint32_t t = 0; t < n; ++t) finish(call, size_t{call.first_row} + tile + t, output, sums[t]);
        }
    }
}

template <PackedKind kKind>
float dense_weight(const std::byte* panel, size_t index) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(panel);
    if constexpr (kKind == PackedKind::f32) {
        return reinterpret_cast<const float*>(panel)[index];
    } else if constexpr (kKind == PackedKind::f16) {
        return half_at(bytes + 2 * index);
    } else {
        uint16_t bits;
        std::memcpy(&bits, bytes + 2 * index, 2);
        return bf16_to_f32(bits);
    }
}

template <PackedKind kKind>
void matmul_dense_panels(const MatmulCall& call) {
    const size_t first = size_t{call.first_panel} * kPanelRows;
    const size_t all = first + size_t{call.n_panels} * kPanelRows;
    const size_t end = all < call.layout.rows ? all : call.layout.rows;
    for (size_t row = call.first_row; row < size_t{call.first_row} + call.n_rows; ++row) {
        const auto* x = reinterpret_cast<const float*>(call.x + row * call.x_row_bytes);
        for (size_t output = first; output < end; ++output) {
            const std::byte* panel = call.panels + output / kPanelRows * call.layout.panel_bytes;
            float sum = 0;
            for (size_t k = 0; k < call.layout.cols; ++k) {
                sum = std::fma(dense_weight<kKind>(panel, k * kPanelRows + output % kPanelRows), x[k], sum);
            }
            finish(call, row, output, sum);
        }
    }
}

using Kernel = void (*)(const MatmulCall&);
constexpr Kernel kMatmul[kPackedKinds] = {
    matmul_blocks<PackedKind::q4_0>,       matmul_blocks<PackedKind::q4_1>,
    matmul_blocks<PackedKind::q5_0>,       matmul_blocks<PackedKind::q5_1>,
    matmul_blocks<PackedKind::q8_0>,       matmul_blocks<PackedKind::q4_k>,
    matmul_blocks<PackedKind::q5_k>,       matmul_blocks<PackedKind::q6_k>,
    matmul_dense_panels<PackedKind::f32>,  matmul_dense_panels<PackedKind::f16>,
    matmul_dense_panels<PackedKind::bf16>,
};

}  // namespace

void set_matmul(KernelTable& table) {
    for (size_t kind = 0; kind < kPackedKinds; ++kind) table.matmul[kind] = kMatmul[kind];
}

}  // namespace takt::cpu::scalar
