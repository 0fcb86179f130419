// Candidates for the scale are tried around the one that the range gives, each improved by solving for the
// best scale of the whole numbers it leads to; the best one is then settled by turns of rounding and solving.
#include "quantize/block_fit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace takt {
namespace {

using Vec = float __attribute__((vector_size(16)));
using Mask = int32_t __attribute__((vector_size(16)));

// Adding and subtracting 1.5 * 2^23 rounds to the nearest whole number.
constexpr float kRound = 12582912.0f;
// Tried: the range's end at so many steps of an eighth around its whole number; wider or finer gained less
// than 0.1 % of the error (gaussian values and SmolLM2's).
constexpr int kSteps = 8;
constexpr float kStep = 0.125f;
constexpr int kTurns = 4;

Vec load(const float* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
Vec all(float x) {
    return Vec{x, x, x, x};
}
float sum(Vec v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}
Vec clamp(Vec v, Vec low, Vec high) {
    const Mask below = v < low;
    v = below ? low : v;
    const Mask above = v > high;
    return above ? high : v;
}
Vec nearest(Vec x, float inverse, float offset, Vec low, Vec high) {
    const Vec scaled = clamp((x + all(offset)) * all(inverse), low, high);
    return (scaled + all(kRound)) - all(kRound);
}

// Sums over whole numbers q, with weights.
struct Sums {
    double q = 0, qq = 0, xq = 0;
};

Sums sums_of(const Values& values, float inverse, float offset, int low, int high) {
    const Vec least = all(static_cast<float>(low)), most = all(static_cast<float>(high));
    Vec q_sum{}, qq_sum{}, xq_sum{};
    for (uint32_t i = 0; i < values.n; i += 4) {
        const Vec x = load(values.x + i), weight = load(values.weight + i);
        const Vec q = nearest(x, inverse, offset, least, most);
        const Vec weighted = weight * q;
        q_sum += weighted;
        qq_sum += weighted * q;
        xq_sum += weighted * x;
    }
    return {sum(q_sum), sum(qq_sum), sum(xq_sum)};
}

struct AffineSums {
    double weight = 0, x = 0, xx = 0;
};

// The best scale and minimum for the whole numbers behind `sums`, and their error.
double solve(const AffineSums& of, const Sums& sums, bool negative_min, Affine& out) {
    const double determinant = of.weight * sums.qq - sums.q * sums.q;
    double scale = 0, min = of.x / of.weight;
    if (determinant > 0) {
        scale = (of.weight * sums.xq - of.x * sums.q) / determinant;
        min = (sums.qq * of.x - sums.q * sums.xq) / determinant;
    }
    if (negative_min && min > 0) {
        min = 0;
        scale = sums.qq > 0 ? sums.xq / sums.qq : 0;
    }
    scale = std::max(scale, 0.0);
    out = {static_cast<float>(scale), static_cast<float>(min)};
    return of.xx + scale * scale * sums.qq + of.weight * min * min - 2 * scale * sums.xq - 2 * min * of.x +
           2 * scale * min * sums.q;
}

}  // namespace

float fit_scale(const Values& values, int low, int high) {
    float largest = 0;
    for (uint32_t i = 0; i < values.n; ++i) {
        if (std::abs(values.x[i]) > std::abs(largest)) largest = values.x[i];
    }
    if (largest == 0 || !std::isfinite(1.0f / largest)) return 0;
    double best = -1;
    float scale = 0;
    const auto attempt = [&](float inverse) {
        const Sums sums = sums_of(values, inverse, 0, low, high);
        if (sums.qq <= 0) return;
        const double gain = sums.xq * sums.xq / sums.qq;  // what is taken off the error
        if (gain <= best) return;
        best = gain;
        scale = static_cast<float>(sums.xq / sums.qq);
    };
    // The largest value at either end of the range: the scale takes the sign that this needs.
    for (int step = -kSteps; step <= kSteps; ++step) {
        attempt((static_cast<float>(low) + static_cast<float>(step) * kStep) / largest);
        attempt((static_cast<float>(high) + static_cast<float>(step) * kStep) / largest);
    }
    for (int turn = 0; turn < kTurns && scale != 0; ++turn) {
        const double before = best;
        attempt(1.0f / scale);
        if (best <= before) break;
    }
    return scale;
}

Affine fit_affine(const Values& values, int high, bool negative_min) {
    AffineSums of;
    float least = values.x[0], most = values.x[0];
    for (uint32_t i = 0; i < values.n; ++i) {
        const double weight = values.weight[i], x = values.x[i];
        of.weight += weight;
        of.x += weight * x;
        of.xx += weight * x * x;
        least = std::min(least, values.x[i]);
        most = std::max(most, values.x[i]);
    }
    if (negative_min) least = std::min(least, 0.0f);
    Affine best{0, least};
    if (!std::isfinite(static_cast<float>(high) / (most - least))) return best;
    double error = INFINITY;
    const auto attempt = [&](float inverse, float min) {
        Affine found;
        const double left = solve(of, sums_of(values, inverse, -min, 0, high), negative_min, found);
        if (left >= error || !(found.scale > 0)) return;
        error = left;
        best = found;
    };
    for (int step = -kSteps; step <= kSteps; ++step)
        attempt((static_cast<float>(high) + static_cast<float>(step) * kStep) / (most - least), least);
    for (int turn = 0; turn < kTurns && best.scale > 0; ++turn) {
        const double before = error;
        attempt(1.0f / best.scale, best.min);
        if (error >= before) break;
    }
    return best;
}

float round_values(const Values& values, Affine by, int low, int high, int8_t* out_q) {
    const float inverse = by.scale != 0 ? 1.0f / by.scale : 0.0f;
    const Vec least = all(static_cast<float>(low)), most = all(static_cast<float>(high));
    Vec error{};
    for (uint32_t i = 0; i < values.n; i += 4) {
        const Vec x = load(values.x + i);
        const Vec q = nearest(x, std::isfinite(inverse) ? inverse : 0.0f, -by.min, least, most);
        const Vec off = x - q * all(by.scale) - all(by.min);
        error += load(values.weight + i) * off * off;
        for (uint32_t lane = 0; lane < 4; ++lane) out_q[i + lane] = static_cast<int8_t>(q[lane]);
    }
    return sum(error);
}

}  // namespace takt
