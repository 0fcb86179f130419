// The scale, or scale and minimum, by which whole numbers of a range come nearest to some values: least
// squares, each value's error weighted.
#pragma once

#include <cstdint>
#include <span>

namespace takt {

// Values and weights: 16 or 32, a multiple of 4. Weights are positive.
struct Values {
    const float* x;
    const float* weight;
    uint32_t n;
};

// x ~ scale * q, q from low to high (low < 0 < high). The scale may be negative; 0 for values that all are 0.
float fit_scale(const Values& values, int low, int high);

struct Affine {
    float scale = 0;  // never negative
    float min = 0;
};
// x ~ scale * q + min, q from 0 to high. negative_min: the minimum may not be above 0.
Affine fit_affine(const Values& values, int high, bool negative_min);

// The nearest whole numbers by a given scale and minimum, and the weighted squared error that is left.
float round_values(const Values& values, Affine by, int low, int high, int8_t* out_q);

}  // namespace takt
