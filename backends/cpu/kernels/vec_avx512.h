// Vectors of 16 lanes for AVX-512. Included inside an ISA's namespace, after <immintrin.h>: everything here
// has internal linkage, so that nothing can be linked into code for an older CPU.

namespace {

constexpr int kLanes = 16;
using VecF = __m512;
using VecI = __m512i;  // int32, or bytes of packed weights

inline VecF zero_f() {
    return _mm512_setzero_ps();
}
inline VecF load(const float* p) {
    return _mm512_loadu_ps(p);
}
inline void store(float* p, VecF a) {
    _mm512_storeu_ps(p, a);
}
// The first n lanes; the others read as zero and aren't written.
inline VecF load_first(const float* p, int n) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p);
}
inline void store_first(float* p, VecF a, int n) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), a);
}
inline VecF splat(float x) {
    return _mm512_set1_ps(x);
}
inline VecF add(VecF a, VecF b) {
    return _mm512_add_ps(a, b);
}
inline VecF sub(VecF a, VecF b) {
    return _mm512_sub_ps(a, b);
}
inline VecF mul(VecF a, VecF b) {
    return _mm512_mul_ps(a, b);
}
inline VecF div(VecF a, VecF b) {
    return _mm512_div_ps(a, b);
}
inline VecF max(VecF a, VecF b) {
    return _mm512_max_ps(a, b);
}  // b where either is NaN
inline VecF min(VecF a, VecF b) {
    return _mm512_min_ps(a, b);
}
inline VecF fma(VecF a, VecF b, VecF c) {
    return _mm512_fmadd_ps(a, b, c);
}  // a * b + c, rounded once
inline VecF fma_minus(VecF a, VecF b, VecF c) {
    return _mm512_fnmadd_ps(a, b, c);
}  // c - a * b, rounded once
inline VecF load_f16(const void* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
inline void store_f16(void* p, VecF a) {
    _mm256_storeu_si256(static_cast<__m256i*>(p),
                        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline VecF load_bf16(const void* p) {
    const VecI wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
inline VecF load_u8(const void* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))));
}
inline VecF load_i8(const void* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))));
}

inline VecI zero_i() {
    return _mm512_setzero_si512();
}
inline VecI load_i(const void* p) {
    return _mm512_loadu_si512(p);
}
inline void store_i(void* p, VecI a) {
    _mm512_storeu_si512(p, a);
}
inline VecI splat_i(int x) {
    return _mm512_set1_epi32(x);
}
inline VecI splat_bytes(char x) {
    return _mm512_set1_epi8(x);
}
inline VecI and_i(VecI a, VecI b) {
    return _mm512_and_si512(a, b);
}
inline VecI xor_i(VecI a, VecI b) {
    return _mm512_xor_si512(a, b);
}
inline VecI add_i(VecI a, VecI b) {
    return _mm512_add_epi32(a, b);
}
template <int N>
inline VecI shift_left(VecI a) {
    return _mm512_slli_epi32(a, N);
}
template <int N>
inline VecI shift_right(VecI a) {
    return _mm512_srli_epi32(a, N);
}
inline VecF to_float(VecI a) {
    return _mm512_cvtepi32_ps(a);
}
// mask ? a : b, bit by bit
inline VecI blend_bits(VecI mask, VecI a, VecI b) {
    return _mm512_ternarylogic_epi32(mask, a, b, 0xca);
}

}  // namespace
