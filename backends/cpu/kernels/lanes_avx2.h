// What wide.inl.h needs of AVX2 beyond vec_avx2.h. Included inside an ISA's namespace after that.

namespace {

inline VecI bits_of(VecF a) {
    return _mm256_castps_si256(a);
}
inline VecF float_of(VecI a) {
    return _mm256_castsi256_ps(a);
}
inline VecF swap_pairs(VecF a) {
    return _mm256_permute_ps(a, 0xb1);
}
inline float highest(VecF a) {
    __m128 best = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    best = _mm_max_ps(best, _mm_movehl_ps(best, best));
    return _mm_cvtss_f32(_mm_max_ss(best, _mm_movehdup_ps(best)));
}

}  // namespace
