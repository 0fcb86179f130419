// Vectors of 8 lanes for AVX2 with FMA and F16C; the same names as vec_avx512.h, included the same way.

namespace {

constexpr int kLanes = 8;
using VecF = __m256;
using VecI = __m256i;  // int32, or bytes of packed weights

inline __m256i first_lanes_mask(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline VecF zero_f() {
    return _mm256_setzero_ps();
}
inline VecF load(const float* p) {
    return _mm256_loadu_ps(p);
}
inline void store(float* p, VecF a) {
    _mm256_storeu_ps(p, a);
}
// The first n lanes; the others read as zero and aren't written.
inline VecF load_first(const float* p, int n) {
    return _mm256_maskload_ps(p, first_lanes_mask(n));
}
inline void store_first(float* p, VecF a, int n) {
    _mm256_maskstore_ps(p, first_lanes_mask(n), a);
}
inline VecF splat(float x) {
    return _mm256_set1_ps(x);
}
inline VecF add(VecF a, VecF b) {
    return _mm256_add_ps(a, b);
}
inline VecF sub(VecF a, VecF b) {
    return _mm256_sub_ps(a, b);
}
inline VecF mul(VecF a, VecF b) {
    return _mm256_mul_ps(a, b);
}
inline VecF div(VecF a, VecF b) {
    return _mm256_div_ps(a, b);
}
inline VecF max(VecF a, VecF b) {
    return _mm256_max_ps(a, b);
}  // b where either is NaN
inline VecF min(VecF a, VecF b) {
    return _mm256_min_ps(a, b);
}
inline VecF fma(VecF a, VecF b, VecF c) {
    return _mm256_fmadd_ps(a, b, c);
}  // a * b + c, rounded once
inline VecF fma_minus(VecF a, VecF b, VecF c) {
    return _mm256_fnmadd_ps(a, b, c);
}  // c - a * b, rounded once
inline VecF load_f16(const void* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
inline void store_f16(void* p, VecF a) {
    _mm_storeu_si128(static_cast<__m128i*>(p),
                     _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline VecF load_bf16(const void* p) {
    const VecI wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
inline VecF load_u8(const void* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p))));
}
inline VecF load_i8(const void* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p))));
}

inline VecI zero_i() {
    return _mm256_setzero_si256();
}
inline VecI load_i(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
inline void store_i(void* p, VecI a) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), a);
}
inline VecI splat_i(int x) {
    return _mm256_set1_epi32(x);
}
inline VecI splat_bytes(char x) {
    return _mm256_set1_epi8(x);
}
inline VecI and_i(VecI a, VecI b) {
    return _mm256_and_si256(a, b);
}
inline VecI xor_i(VecI a, VecI b) {
    return _mm256_xor_si256(a, b);
}
inline VecI add_i(VecI a, VecI b) {
    return _mm256_add_epi32(a, b);
}
template <int N>
inline VecI shift_left(VecI a) {
    return _mm256_slli_epi32(a, N);
}
template <int N>
inline VecI shift_right(VecI a) {
    return _mm256_srli_epi32(a, N);
}
inline VecF to_float(VecI a) {
    return _mm256_cvtepi32_ps(a);
}
// mask ? a : b, bit by bit
inline VecI blend_bits(VecI mask, VecI a, VecI b) {
    return _mm256_or_si256(_mm256_and_si256(mask, a), _mm256_andnot_si256(mask, b));
}

}  // namespace
