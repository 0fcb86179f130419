// A vector of one lane in plain C++, with the names of vec_avx2.h and lanes_avx2.h. Included inside namespace
// scalar.

namespace {

constexpr int kLanes = 1;
using VecF = float;
using VecI = int32_t;

inline VecF load(const float* p) {
    return *p;
}
inline void store(float* p, VecF a) {
    *p = a;
}
inline VecF load_first(const float* p, int n) {
    return n > 0 ? *p : 0.0f;
}
inline void store_first(float* p, VecF a, int n) {
    if (n > 0) *p = a;
}
inline VecF splat(float x) {
    return x;
}
inline VecF add(VecF a, VecF b) {
    return a + b;
}
inline VecF sub(VecF a, VecF b) {
    return a - b;
}
inline VecF mul(VecF a, VecF b) {
    return a * b;
}
inline VecF div(VecF a, VecF b) {
    return a / b;
}
inline VecF max(VecF a, VecF b) {
    return a > b ? a : b;
}  // b where either is NaN
inline VecF min(VecF a, VecF b) {
    return a < b ? a : b;
}
inline VecF fma(VecF a, VecF b, VecF c) {
    return __builtin_fmaf(a, b, c);
}
inline VecF fma_minus(VecF a, VecF b, VecF c) {
    return __builtin_fmaf(-a, b, c);
}
inline VecF load_f16(const void* p) {
    return f16_to_f32(*static_cast<const uint16_t*>(p));
}
inline void store_f16(void* p, VecF a) {
    *static_cast<uint16_t*>(p) = f32_to_f16(a);
}
inline VecF load_i8(const void* p) {
    return static_cast<float>(*static_cast<const int8_t*>(p));
}
inline VecI splat_i(int x) {
    return x;
}
inline VecI add_i(VecI a, VecI b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
template <int N>
inline VecI shift_left(VecI a) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) << N);
}
inline VecI bits_of(VecF a) {
    return __builtin_bit_cast(int32_t, a);
}
inline VecF float_of(VecI a) {
    return __builtin_bit_cast(float, a);
}
inline VecF swap_pairs(VecF a) {
    return a;
}  // never called: one lane has no neighbour
inline float highest(VecF a) {
    return a;
}

}  // namespace
