// A row of a panel back to float32: embeddings look rows up in the packed form, so that no second copy is
// kept.
#include <cstring>

#include "cpu/kernels/pack_panels.h"
#include "tensor/dequantize.h"

namespace takt::cpu {
namespace {

uint16_t load16(const uint8_t* p) {
    uint16_t v;
    std::memcpy(&v, p, 2);
    return v;
}
float load_half(const uint8_t* p) {
    return f16_to_f32(load16(p));
}

// The unsigned integer of one value of a block: value v lies in byte 4 * lane + v % 4 of the block's vectors.
uint32_t quant(PackedKind kind, const PanelLayout& layout, const uint8_t* panel, size_t block, uint32_t lane,
               uint32_t v) {
    const uint32_t byte = 4 * lane + v % 4;
    if (kind == PackedKind::q8_0) return panel[512 * block + 64 * (v / 4) + byte];
    const uint32_t nibbles = panel[256 * block + 64 * (v % 16 / 4) + byte];
    const uint32_t low = v < 16 ? nibbles & 15 : nibbles >> 4;
    const uint8_t* high = panel + layout.high_offset;
    switch (kind) {
        case PackedKind::q5_0:
        case PackedKind::q5_1:
        case PackedKind::q5_k:
            return low | ((high[64 * block + byte] >> (v / 4)) & 1u) << 4;
        case PackedKind::q6_k:
            return low | ((high[128 * block + 64 * (v / 16) + byte] >> (2 * (v % 16 / 4))) & 3u) << 4;
        default:
            return low;
    }
}

// Each weight of the block is scale * (quant - offset) + min; q6_k has a scale per half.
struct BlockScales {
    float scale[2];
    float min = 0;
    int offset = 0;
    bool has_min = false;
};

BlockScales block_scales(PackedKind kind, const PanelLayout& layout, const uint8_t* panel, size_t block,
                         uint32_t lane) {
    const uint8_t* scales = panel + layout.scales_offset;
    const uint8_t* mins = panel + layout.mins_offset;
    const uint8_t* supers = panel + layout.supers_offset;
    const size_t super = block / kSuperBlocks;
    BlockScales out;
    switch (kind) {
        case PackedKind::q4_k:
        case PackedKind::q5_k:
            out.scale[0] =
                load_half(supers + 64 * super + 2 * lane) * static_cast<float>(scales[16 * block + lane]);
            out.min = -(load_half(supers + 64 * super + 32 + 2 * lane) *
                        static_cast<float>(mins[16 * block + lane]));
            out.has_min = true;
            break;
        case PackedKind::q6_k: {
            const float d = load_half(supers + 32 * super + 2 * lane);
            out.offset = 32;
            out.scale[0] = d * static_cast<float>(static_cast<int8_t>(scales[32 * block + lane]));
            out.scale[1] = d * static_cast<float>(static_cast<int8_t>(scales[32 * block + 16 + lane]));
            return out;
        }
        default:
            out.scale[0] = load_half(scales + 32 * block + 2 * lane);
            out.has_min = kind == PackedKind::q4_1 || kind == PackedKind::q5_1;
            if (out.has_min) out.min = load_half(mins + 32 * block + 2 * lane);
            out.offset = kind == PackedKind::q4_0   ? 8
                         : kind == PackedKind::q5_0 ? 16
                         : kind == PackedKind::q8_0 ? 128
                                                    : 0;
    }
    out.scale[1] = out.scale[0];
    return out;
}

void unpack_dense(PackedKind kind, uint32_t cols, const uint8_t* panel, uint32_t lane, float* out) {
    for (size_t k = 0; k < cols; ++k) {
        const size_t at = k * kPanelRows + lane;
        if (kind == PackedKind::f32)
            std::memcpy(out + k, panel + 4 * at, 4);
        else if (kind == PackedKind::f16)
            out[k] = load_half(panel + 2 * at);
        else
            out[k] = bf16_to_f32(load16(panel + 2 * at));
    }
}

}  // namespace

void unpack_panel_row(PackedKind kind, const PanelLayout& layout, const std::byte* panel_bytes, uint32_t lane,
                      float* out) {
    const auto* panel = reinterpret_cast<const uint8_t*>(panel_bytes);
    if (layout.n_blocks == 0) return unpack_dense(kind, layout.cols, panel, lane, out);
    for (size_t block = 0; block < layout.n_blocks; ++block, out += kBlockValues) {
        const BlockScales scales = block_scales(kind, layout, panel, block, lane);
        for (uint32_t v = 0; v < kBlockValues; ++v) {
            const auto q = static_cast<float>(static_cast<int>(quant(kind, layout, panel, block, lane, v)) -
                                              scales.offset);
            const float product = scales.scale[v / 16] * q;
            out[v] = scales.has_min ? product + scales.min : product;
        }
    }
}

}  // namespace takt::cpu
