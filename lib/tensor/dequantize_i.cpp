// The i types: elements looked up in grids, with signs apart, in groups of 16 or 32.
#include <bit>

#include "tensor/dequantize.h"
#include "tensor/dequantize_block.h"
#include "tensor/quant_grids.h"

namespace takt {
namespace {

uint32_t load_word(const uint8_t* bytes) {
    return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

// Seven signs as they are stored, and the eighth.
uint32_t even_signs(uint32_t seven) {
    return seven | static_cast<uint32_t>(std::popcount(seven) & 1) << 7;
}

int8_t with_sign(int value, bool negative) {
    return static_cast<int8_t>(negative ? -value : value);
}

void look_up_iq2(uint16_t point, uint32_t signs, int8_t* out) {
    constexpr int kMagnitudes[] = {8, 25, 43, 0};
    for (int i = 0; i < 8; ++i) out[i] = with_sign(kMagnitudes[point >> 2 * i & 3], (signs >> i & 1) != 0);
}

// An eighth more or less than -1, 0 or 1, times eight.
void look_up_iq1(uint16_t point, bool negative, int8_t* out) {
    for (int i = 0; i < 8; ++i)
        out[i] = static_cast<int8_t>(8 * ((point >> 2 * i & 3) - 1) + (negative ? -1 : 1));
}

void set_scales(uint16_t d, float power, int first, int second, IGroup& out) {
    out.factor = f16_to_f32(d) * power;
    out.multiplier[0] = static_cast<int8_t>(2 * first + 1);
    out.multiplier[1] = static_cast<int8_t>(2 * second + 1);
}

template <typename Block>
void dequantize_groups(const Block& block, float* out) {
    for (int g = 0; g < 8; ++g) {
        IGroup group;
        unpack_group(block, g, group);
        for (int i = 0; i < 32; ++i) {
            const float scale = group.factor * static_cast<float>(group.multiplier[i / 16]);
            *out++ = scale * static_cast<float>(group.value[i]);
        }
    }
}

}  // namespace

void unpack_group(const BlockIq4Xs& block, int group, IGroup& out) {
    const int low = block.scales_low[group / 2] >> group % 2 * 4 & 15;
    const int scale = low | (block.scales_high >> 2 * group & 3) << 4;
    out.factor = f16_to_f32(block.d);
    out.multiplier[0] = out.multiplier[1] = static_cast<int8_t>(scale - 32);
    for (int i = 0; i < 16; ++i) {
        const uint8_t nibbles = block.nibbles[group * 16 + i];
        out.value[i] = kIq4Values[nibbles & 15];
        out.value[i + 16] = kIq4Values[nibbles >> 4];
    }
}

void unpack_group(const BlockIq3S& block, int group, IGroup& out) {
    const int scale = block.scales[group / 2] >> group % 2 * 4 & 15;
    set_scales(block.d, 1.0f, scale, scale, out);
    const uint32_t signs = load_word(block.signs + group * 4);
    for (int run = 0; run < 8; ++run) {
        const int high = block.high_bits[group] >> run & 1;
        const uint16_t point = kGridIq3S[block.indices[group * 8 + run] | high << 8];
        for (int i = 0; i < 4; ++i) {
            out.value[run * 4 + i] =
                with_sign(2 * (point >> 3 * i & 7) + 1, (signs >> (run * 4 + i) & 1) != 0);
        }
    }
}

void unpack_group(const BlockIq3Xxs& block, int group, IGroup& out) {
    const uint32_t word = load_word(block.signs_and_scales + group * 4);
    const int scale = static_cast<int>(word >> 28);
    set_scales(block.d, 0.5f, scale, scale, out);
    for (int run = 0; run < 8; ++run) {
        const uint16_t point = kGridIq3Xxs[block.indices[group * 8 + run]];
        const uint32_t signs = even_signs(word >> run / 2 * 7 & 127) >> run % 2 * 4;
        for (int i = 0; i < 4; ++i) {
            const int index = point >> 3 * i & 7;
            out.value[run * 4 + i] = with_sign(index == 7 ? 31 : 4 * index + 2, (signs >> i & 1) != 0);
        }
    }
}

void unpack_group(const BlockIq2Xxs& block, int group, IGroup& out) {
    const uint8_t* indices = block.groups + group * 8;
    const uint32_t word = load_word(indices + 4);
    const int scale = static_cast<int>(word >> 28);
    set_scales(block.d, 0.125f, scale, scale, out);
    for (int run = 0; run < 4; ++run)
        look_up_iq2(kGridIq2Xxs[indices[run]], even_signs(word >> run * 7 & 127), out.value + run * 8);
}

void unpack_group(const BlockIq2Xs& block, int group, IGroup& out) {
    set_scales(block.d, 0.125f, block.scales[group] & 15, block.scales[group] >> 4, out);
    for (int run = 0; run < 4; ++run) {
        const uint16_t word = block.words[group * 4 + run];
        look_up_iq2(kGridIq2Xs[word & 511], even_signs(word >> 9), out.value + run * 8);
    }
}

void unpack_group(const BlockIq2S& block, int group, IGroup& out) {
    set_scales(block.d, 0.125f, block.scales[group] & 15, block.scales[group] >> 4, out);
    for (int run = 0; run < 4; ++run) {
        const int high = block.high_bits[group] >> run * 2 & 3;
        look_up_iq2(kGridIq2S[block.indices[group * 4 + run] | high << 8], block.signs[group * 4 + run],
                    out.value + run * 8);
    }
}

void unpack_group(const BlockIq1S& block, int group, IGroup& out) {
    const uint16_t word = block.words[group];
    const int scale = word >> 12 & 7;
    set_scales(block.d, 0.125f, scale, scale, out);
    for (int run = 0; run < 4; ++run) {
        const int high = word >> run * 3 & 7;
        look_up_iq1(kGridIq1S[block.indices[group * 4 + run] | high << 8], (word & 0x8000) != 0,
                    out.value + run * 8);
    }
}

void unpack_group(const BlockIq1M& block, int group, IGroup& out) {
    const auto d = static_cast<uint16_t>(block.scales[0] >> 12 | (block.scales[1] >> 12) << 4 |
                                         (block.scales[2] >> 12) << 8 | (block.scales[3] >> 12) << 12);
    const int scales = block.scales[group / 2] >> 6 * (group % 2);
    set_scales(d, 0.125f, scales & 7, scales >> 3 & 7, out);
    for (int run = 0; run < 4; ++run) {
        const int nibble = block.high_nibbles[group * 2 + run / 2] >> run % 2 * 4 & 15;
        look_up_iq1(kGridIq1S[block.indices[group * 4 + run] | (nibble & 7) << 8], (nibble & 8) != 0,
                    out.value + run * 8);
    }
}

void dequantize_block(const BlockIq4Xs& block, float* out) {
    dequantize_groups(block, out);
}
void dequantize_block(const BlockIq3S& block, float* out) {
    dequantize_groups(block, out);
}
void dequantize_block(const BlockIq3Xxs& block, float* out) {
    dequantize_groups(block, out);
}
void dequantize_block(const BlockIq2Xxs& block, float* out) {
    dequantize_groups(block, out);
}
void dequantize_block(const BlockIq2Xs& block, float* out) {
    dequantize_groups(block, out);
}
void dequantize_block(const BlockIq2S& block, float* out) {
    dequantize_groups(block, out);
}
void dequantize_block(const BlockIq1S& block, float* out) {
    dequantize_groups(block, out);
}
void dequantize_block(const BlockIq1M& block, float* out) {
    dequantize_groups(block, out);
}

}  // namespace takt
