// Vectors of 4 lanes for AdvSIMD of Armv8.0; the same names as vec_avx512.h, included the same way, after
// <arm_neon.h>.

namespace {

constexpr int kLanes = 4;
using VecF = float32x4_t;
using VecI = int32x4_t;  // int32, or bytes of packed weights

inline VecF zero_f() {
    return vdupq_n_f32(0.0f);
}
inline VecF load(const float* p) {
    return vld1q_f32(p);
}
inline void store(float* p, VecF a) {
    vst1q_f32(p, a);
}
// The first n lanes; the others read as zero and aren't written.
inline VecF load_first(const float* p, int n) {
    if (n >= 4) return vld1q_f32(p);
    VecF a = zero_f();
    if (n > 0) a = vld1q_lane_f32(p, a, 0);
    if (n > 1) a = vld1q_lane_f32(p + 1, a, 1);
    if (n > 2) a = vld1q_lane_f32(p + 2, a, 2);
    return a;
}
inline void store_first(float* p, VecF a, int n) {
    if (n >= 4) return vst1q_f32(p, a);
    if (n > 0) vst1q_lane_f32(p, a, 0);
    if (n > 1) vst1q_lane_f32(p + 1, a, 1);
    if (n > 2) vst1q_lane_f32(p + 2, a, 2);
}
inline VecF splat(float x) {
    return vdupq_n_f32(x);
}
inline VecF add(VecF a, VecF b) {
    return vaddq_f32(a, b);
}
inline VecF sub(VecF a, VecF b) {
    return vsubq_f32(a, b);
}
inline VecF mul(VecF a, VecF b) {
    return vmulq_f32(a, b);
}
inline VecF div(VecF a, VecF b) {
    return vdivq_f32(a, b);
}
// b where either is NaN: fmax would give NaN, and the bits would differ from the other ISAs'.
inline VecF max(VecF a, VecF b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
inline VecF min(VecF a, VecF b) {
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
inline VecF fma(VecF a, VecF b, VecF c) {
    return vfmaq_f32(c, a, b);
}  // a * b + c, rounded once
inline VecF fma_minus(VecF a, VecF b, VecF c) {
    return vfmsq_f32(c, a, b);
}  // c - a * b, rounded once
inline VecF load_f16(const void* p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(static_cast<const uint16_t*>(p))));
}
inline void store_f16(void* p, VecF a) {  // to nearest even: the rounding that a process starts with
    vst1_u16(static_cast<uint16_t*>(p), vreinterpret_u16_f16(vcvt_f16_f32(a)));
}
inline VecF load_bf16(const void* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(static_cast<const uint16_t*>(p)), 16));
}
inline uint8x8_t load_four_bytes(const void* p) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, p, 4);
    return vreinterpret_u8_u32(vdup_n_u32(bytes));
}
inline VecF load_u8(const void* p) {
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(load_four_bytes(p)))));
}
inline VecF load_i8(const void* p) {
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(load_four_bytes(p))))));
}

inline VecI zero_i() {
    return vdupq_n_s32(0);
}
inline VecI load_i(const void* p) {
    return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(p)));
}
inline void store_i(void* p, VecI a) {
    vst1q_s32(static_cast<int32_t*>(p), a);
}
inline VecI splat_i(int x) {
    return vdupq_n_s32(x);
}
inline VecI splat_bytes(char x) {
    return vreinterpretq_s32_u8(vdupq_n_u8(static_cast<uint8_t>(x)));
}
inline VecI and_i(VecI a, VecI b) {
    return vandq_s32(a, b);
}
inline VecI xor_i(VecI a, VecI b) {
    return veorq_s32(a, b);
}
inline VecI add_i(VecI a, VecI b) {
    return vaddq_s32(a, b);
}
template <int N>
inline VecI shift_left(VecI a) {
    return vshlq_n_s32(a, N);
}
template <int N>
inline VecI shift_right(VecI a) {  // zeros come in
    if constexpr (N == 0)
        return a;
    else
        return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), N));
}
inline VecF to_float(VecI a) {
    return vcvtq_f32_s32(a);
}
// mask ? a : b, bit by bit
inline VecI blend_bits(VecI mask, VecI a, VecI b) {
    return vbslq_s32(vreinterpretq_u32_s32(mask), a, b);
}

}  // namespace
