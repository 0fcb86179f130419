// Sixteen floats as one value, made of an ISA's vectors: the arithmetic of rows is written once over it and
// gives the same bits everywhere. Included inside an ISA's namespace after vec_<isa>.h (or its scalar
// stand-in) and these:
//   VecI bits_of(VecF), VecF float_of(VecI)      the same bits
//   VecF swap_pairs(VecF)                        values 2 i and 2 i + 1 change places (only where kLanes > 1)
//   float highest(VecF)

namespace {

constexpr int kParts = kRowLanes / kLanes;
struct Wide {
    VecF part[kParts];
};

// A value from its parts.
template <typename F>
inline __attribute__((always_inline)) Wide each(F part) {
    Wide r;
#pragma GCC unroll 16
    for (int i = 0; i < kParts; ++i) r.part[i] = part(i);
    return r;
}

inline __attribute__((always_inline)) Wide wide_load(const float* p) {
    return each([&](int i) { return load(p + i * kLanes); });
}
inline __attribute__((always_inline)) void wide_store(float* p, const Wide& a) {
    for (int i = 0; i < kParts; ++i) store(p + i * kLanes, a.part[i]);
}
inline __attribute__((always_inline)) int lanes_left(int n, int part) {
    const int left = n - part * kLanes;
    return left < 0 ? 0 : left > kLanes ? kLanes : left;
}
// The first n values, 0 < n < 16; the others read as zero and aren't written.
inline __attribute__((always_inline)) Wide wide_load_first(const float* p, int n) {
    return each([&](int i) { return load_first(p + i * kLanes, lanes_left(n, i)); });
}
inline __attribute__((always_inline)) void wide_store_first(float* p, const Wide& a, int n) {
    for (int i = 0; i < kParts; ++i) store_first(p + i * kLanes, a.part[i], lanes_left(n, i));
}
inline __attribute__((always_inline)) Wide wide_load_half(const uint16_t* p) {
    return each([&](int i) { return load_f16(p + i * kLanes); });
}
inline __attribute__((always_inline)) void wide_store_half(uint16_t* p, const Wide& a) {
    for (int i = 0; i < kParts; ++i) store_f16(p + i * kLanes, a.part[i]);
}
inline __attribute__((always_inline)) Wide wide_splat(float x) {
    return each([&](int) { return splat(x); });
}
inline __attribute__((always_inline)) Wide operator+(const Wide& a, const Wide& b) {
    return each([&](int i) { return add(a.part[i], b.part[i]); });
}
inline __attribute__((always_inline)) Wide operator-(const Wide& a, const Wide& b) {
    return each([&](int i) { return sub(a.part[i], b.part[i]); });
}
inline __attribute__((always_inline)) Wide operator*(const Wide& a, const Wide& b) {
    return each([&](int i) { return mul(a.part[i], b.part[i]); });
}
inline __attribute__((always_inline)) Wide operator/(const Wide& a, const Wide& b) {
    return each([&](int i) { return div(a.part[i], b.part[i]); });
}
inline __attribute__((always_inline)) Wide wide_fma(const Wide& a, const Wide& b, const Wide& c) {
    return each([&](int i) { return fma(a.part[i], b.part[i], c.part[i]); });
}
inline __attribute__((always_inline)) Wide wide_fma_minus(const Wide& a, const Wide& b, const Wide& c) {
    return each([&](int i) { return fma_minus(a.part[i], b.part[i], c.part[i]); });
}
inline __attribute__((always_inline)) Wide wide_max(const Wide& a, const Wide& b) {
    return each([&](int i) { return max(a.part[i], b.part[i]); });
}  // b where NaN
inline __attribute__((always_inline)) Wide wide_min(const Wide& a, const Wide& b) {
    return each([&](int i) { return min(a.part[i], b.part[i]); });
}
inline __attribute__((always_inline)) Wide wide_swap_pairs(const Wide& a) {
    if constexpr (kLanes > 1)
        return each([&](int i) { return swap_pairs(a.part[i]); });
    else
        return each([&](int i) { return a.part[i ^ 1]; });
}
// 2^(n + 127 - 127) for the integer n that was rounded by adding kRounder; 0 for n = -127.
inline __attribute__((always_inline)) Wide power_of_rounded(const Wide& rounded) {
    return each(
        [&](int i) { return float_of(shift_left<23>(add_i(bits_of(rounded.part[i]), splat_i(127)))); });
}

// The sum of all lanes, halves onto halves.
inline __attribute__((always_inline)) float wide_sum(const Wide& a) {
    float lanes[kRowLanes];
    wide_store(lanes, a);
    for (int width = kRowLanes / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) lanes[i] = lanes[i] + lanes[i + width];
    }
    return lanes[0];
}

inline __attribute__((always_inline)) float wide_highest(const Wide& a) {
    VecF best = a.part[0];
#pragma GCC unroll 16
    for (int i = 1; i < kParts; ++i) best = max(best, a.part[i]);
    return highest(best);
}

// Adding 1.5 * 2^23 leaves the nearest integer in a float's lowest bits.
constexpr float kRounder = 12582912.0f;
constexpr float kLog2E = 1.44269504f;

// 2^f for f in [-0.5, 0.5], within 8e-8; exactly 1 for 0. Coefficients: weighted least maximum fit, the first
// fixed at 1.
inline __attribute__((always_inline)) Wide power_of_fraction(const Wide& f) {
    Wide p = wide_splat(0x1.41fbbcp-13f);
    p = wide_fma(p, f, wide_splat(0x1.5f3e54p-10f));
    p = wide_fma(p, f, wide_splat(0x1.3b2d4cp-7f));
    p = wide_fma(p, f, wide_splat(0x1.c6aee8p-5f));
    p = wide_fma(p, f, wide_splat(0x1.ebfbdcp-3f));
    p = wide_fma(p, f, wide_splat(0x1.62e43p-1f));
    return wide_fma(p, f, wide_splat(1.0f));
}

// 2^x for x <= 127; 0 below -127. NaN stays NaN.
inline __attribute__((always_inline)) Wide wide_exp2(Wide x) {
    x = wide_max(wide_splat(-127.0f), x);
    const Wide rounded = x + wide_splat(kRounder);
    return power_of_fraction(x - (rounded - wide_splat(kRounder))) * power_of_rounded(rounded);
}

// e^x, held within the range of float.
inline __attribute__((always_inline)) Wide wide_exp(Wide x) {
    constexpr float kLn2High = 0.693359375f,
                    kLn2Low = -2.12194440e-4f;  // the high part times an integer is exact
    x = wide_max(wide_splat(-88.0f), wide_min(wide_splat(88.0f), x));
    const Wide rounded = wide_fma(x, wide_splat(kLog2E), wide_splat(kRounder));
    const Wide n = rounded - wide_splat(kRounder);
    const Wide rest = wide_fma_minus(n, wide_splat(kLn2Low), wide_fma_minus(n, wide_splat(kLn2High), x));
    return power_of_fraction(rest * wide_splat(kLog2E)) * power_of_rounded(rounded);
}

// tanh from e^(-2 |x|), which never overflows.
inline __attribute__((always_inline)) Wide wide_tanh(const Wide& x) {
    const Wide minus = wide_splat(0.0f) - x;
    const Wide size = wide_max(minus, x);
    const Wide e = wide_exp(wide_splat(-2.0f) * size);
    const Wide t = (wide_splat(1.0f) - e) / (wide_splat(1.0f) + e);
    // The sign back: t * (x / |x|) would lose x = 0, so choose by a comparison that max offers.
    const Wide up = wide_min(wide_splat(1.0f), wide_max(wide_splat(-1.0f), x * wide_splat(1e30f)));
    return t * up;
}

// Calls body(offset, n) for every 16 values of a row and for the rest; n is 16 or less.
template <typename Body>
inline __attribute__((always_inline)) void for_each_wide(size_t n, Body body) {
    size_t i = 0;
    for (; i + kRowLanes <= n; i += kRowLanes) body(i, kRowLanes);
    if (i < n) body(i, static_cast<int>(n - i));
}
inline __attribute__((always_inline)) Wide load_up_to(const float* p, int n) {
    return n == kRowLanes ? wide_load(p) : wide_load_first(p, n);
}
inline __attribute__((always_inline)) void store_up_to(float* p, const Wide& a, int n) {
    if (n == kRowLanes)
        wide_store(p, a);
    else
        wide_store_first(p, a, n);
}

}  // namespace
