// Super-blocks of the k types: each group is fitted alone, then its scale and minimum are rounded to what the
// super-block can hold, the neighbours tried, and the factors that all groups share fitted to what came out.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "quantize/block_fit.h"
#include "quantize/encode_block.h"
#include "tensor/dequantize.h"

namespace takt {
namespace {

constexpr int kGroups = 8, kGroup = 32;  // of q4_k and q5_k
constexpr int kMostScale = 63;
constexpr int kRefits = 3;

struct AffineGroups {
    uint16_t d = 0, min = 0;  // as stored
    std::array<int, kGroups> scale{}, minimum{};
    std::array<int8_t, kSuperBlock> q{};
    float error = INFINITY;

    Affine of(int scale_number, int minimum_number) const {
        return {f16_to_f32(d) * static_cast<float>(scale_number),
                -(f16_to_f32(min) * static_cast<float>(minimum_number))};
    }
};

int rounded(float value, float unit, int most) {
    if (!(unit > 0)) return 0;
    return static_cast<int>(std::lrint(std::clamp(value / unit, 0.0f, static_cast<float>(most))));
}

// A scale of 0 stands for no values at all: rounding by it gives the minimum alone.
void choose_numbers(const Values& all, const std::array<Affine, kGroups>& fits, int high, AffineGroups& out) {
    out.error = 0;
    for (int g = 0; g < kGroups; ++g) {
        const Values group = {all.x + g * kGroup, all.weight + g * kGroup, kGroup};
        const int scale = rounded(fits[g].scale, f16_to_f32(out.d), kMostScale);
        const int minimum = rounded(-fits[g].min, f16_to_f32(out.min), kMostScale);
        float best = INFINITY;
        std::array<int8_t, kGroup> q;
        for (int s = std::max(scale - 1, 0); s <= std::min(scale + 1, kMostScale); ++s) {
            for (int m = std::max(minimum - 1, 0); m <= std::min(minimum + 1, kMostScale); ++m) {
                const float error = round_values(group, out.of(s, m), 0, high, q.data());
                if (!(error < best)) continue;
                best = error;
                out.scale[g] = s;
                out.minimum[g] = m;
                std::copy(q.begin(), q.end(), out.q.begin() + g * kGroup);
            }
        }
        out.error += best;
    }
}

// The shared factors that fit the numbers best: x ~ d * (scale * q) - min * minimum.
bool refit(const Values& all, int high, AffineGroups& groups) {
    double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
    for (int i = 0; i < static_cast<int>(kSuperBlock); ++i) {
        const double a = groups.scale[i / kGroup] * groups.q[i], b = -groups.minimum[i / kGroup];
        const double weight = all.weight[i], x = all.x[i];
        aa += weight * a * a;
        ab += weight * a * b;
        bb += weight * b * b;
        xa += weight * x * a;
        xb += weight * x * b;
    }
    const double determinant = aa * bb - ab * ab;
    if (!(determinant > 1e-9 * aa * bb)) return false;
    AffineGroups next = groups;
    next.d = f32_to_f16(static_cast<float>((xa * bb - xb * ab) / determinant));
    next.min = f32_to_f16(static_cast<float>((aa * xb - ab * xa) / determinant));
    if (((next.d | next.min) & 0x8000) != 0) return false;
    next.error = 0;
    for (int g = 0; g < kGroups; ++g) {
        const Values group = {all.x + g * kGroup, all.weight + g * kGroup, kGroup};
        next.error +=
            round_values(group, next.of(next.scale[g], next.minimum[g]), 0, high, next.q.data() + g * kGroup);
    }
    if (!(next.error < groups.error)) return false;
    groups = next;
    return true;
}

AffineGroups fit_groups(const float* x, const float* weight, int high) {
    const Values all = {x, weight, kSuperBlock};
    std::array<Affine, kGroups> fits;
    float most_scale = 0, most_minimum = 0;
    for (int g = 0; g < kGroups; ++g) {
        fits[g] = fit_affine({x + g * kGroup, weight + g * kGroup, kGroup}, high, true);
        most_scale = std::max(most_scale, fits[g].scale);
        most_minimum = std::max(most_minimum, -fits[g].min);
    }
    AffineGroups groups;
    groups.d = f32_to_f16(most_scale / kMostScale);
    groups.min = f32_to_f16(most_minimum / kMostScale);
    choose_numbers(all, fits, high, groups);
    for (int i = 0; i < kRefits && refit(all, high, groups); ++i) {
    }
    return groups;
}

// The places are told at BlockQ4K and unpack_scales() of lib/tensor.
void pack_scales(const AffineGroups& groups, uint8_t (&out)[12]) {
    for (int g = 0; g < 4; ++g) {
        const int scale = groups.scale[g + 4], minimum = groups.minimum[g + 4];
        out[g] = static_cast<uint8_t>(groups.scale[g] | (scale >> 4) << 6);
        out[g + 4] = static_cast<uint8_t>(groups.minimum[g] | (minimum >> 4) << 6);
        out[g + 8] = static_cast<uint8_t>((scale & 15) | (minimum & 15) << 4);
    }
}

template <typename Block>
void store(const AffineGroups& groups, Block& out) {
    out = {};
    out.d = groups.d;
    out.min = groups.min;
    pack_scales(groups, out.scales);
    for (int i = 0; i < static_cast<int>(kSuperBlock); ++i)
        out.nibbles[i / 64 * 32 + i % 32] |= static_cast<uint8_t>((groups.q[i] & 15) << i % 64 / 32 * 4);
}

constexpr int kHalfGroups = 16, kHalfGroup = 16;  // of q6_k
constexpr int kLow = -32, kHigh = 31;

struct ScaleGroups {
    uint16_t d = 0;
    std::array<int, kHalfGroups> scale{};
    std::array<int8_t, kSuperBlock> q{};
    float error = INFINITY;
};

void choose_scales(const Values& all, const std::array<float, kHalfGroups>& fits, int reach,
                   ScaleGroups& out) {
    out.error = 0;
    const float d = f16_to_f32(out.d);
    for (int g = 0; g < kHalfGroups; ++g) {
        const Values group = {all.x + g * kHalfGroup, all.weight + g * kHalfGroup, kHalfGroup};
        const int middle =
            d != 0 ? static_cast<int>(std::lrint(std::clamp(fits[g] / d, -128.0f, 127.0f))) : 0;
        float best = INFINITY;
        std::array<int8_t, kHalfGroup> q;
        for (int s = std::max(middle - reach, -128); s <= std::min(middle + reach, 127); ++s) {
            const float error = round_values(group, {d * static_cast<float>(s), 0}, kLow, kHigh, q.data());
            if (!(error < best)) continue;
            best = error;
            out.scale[g] = s;
            std::copy(q.begin(), q.end(), out.q.begin() + g * kHalfGroup);
        }
        out.error += best;
    }
}

bool refit(const Values& all, ScaleGroups& groups) {
    double aa = 0, xa = 0;
    for (int i = 0; i < static_cast<int>(kSuperBlock); ++i) {
        const double a = groups.scale[i / kHalfGroup] * groups.q[i];
        aa += all.weight[i] * a * a;
        xa += all.weight[i] * a * all.x[i];
    }
    if (!(aa > 0)) return false;
    ScaleGroups next = groups;
    next.d = f32_to_f16(static_cast<float>(xa / aa));
    std::array<float, kHalfGroups> fits;
    for (int g = 0; g < kHalfGroups; ++g) fits[g] = f16_to_f32(next.d) * static_cast<float>(groups.scale[g]);
    choose_scales(all, fits, 0, next);
    if (!(next.error < groups.error)) return false;
    groups = next;
    return true;
}

}  // namespace

void encode_block(const float* x, const float* weight, BlockQ4K& out) {
    store(fit_groups(x, weight, 15), out);
}

void encode_block(const float* x, const float* weight, BlockQ5K& out) {
    const AffineGroups groups = fit_groups(x, weight, 31);
    store(groups, out);
    for (int i = 0; i < static_cast<int>(kSuperBlock); ++i)
        out.high_bits[i % 32] |= static_cast<uint8_t>((groups.q[i] >> 4) << i / 32);
}

void encode_block(const float* x, const float* weight, BlockQ6K& out) {
    const Values all = {x, weight, kSuperBlock};
    std::array<float, kHalfGroups> fits;
    float largest = 0;
    for (int g = 0; g < kHalfGroups; ++g) {
        fits[g] = fit_scale({x + g * kHalfGroup, weight + g * kHalfGroup, kHalfGroup}, kLow, kHigh);
        if (std::abs(fits[g]) > std::abs(largest)) largest = fits[g];
    }
    ScaleGroups groups;
    groups.d = f32_to_f16(largest / -128.0f);
    choose_scales(all, fits, 1, groups);
    for (int i = 0; i < kRefits && refit(all, groups); ++i) {
    }
    out = {};
    out.d = groups.d;
    for (int g = 0; g < kHalfGroups; ++g) out.scales[g] = static_cast<int8_t>(groups.scale[g]);
    for (int i = 0; i < static_cast<int>(kSuperBlock); ++i) {
        const int half = i / 128, run = i % 128 / 32, at = i % 32, bits = groups.q[i] + 32;
        out.nibbles[half * 64 + run % 2 * 32 + at] |= static_cast<uint8_t>((bits & 15) << run / 2 * 4);
        out.high_bits[half * 32 + at] |= static_cast<uint8_t>((bits >> 4) << run * 2);
    }
}

}  // namespace takt
