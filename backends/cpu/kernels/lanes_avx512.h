// What wide.inl.h needs of AVX-512 beyond vec_avx512.h. Included inside an ISA's namespace after that.

namespace {

inline VecI bits_of(VecF a) {
    return _mm512_castps_si512(a);
}
inline VecF float_of(VecI a) {
    return _mm512_castsi512_ps(a);
}
inline VecF swap_pairs(VecF a) {
    return _mm512_permute_ps(a, 0xb1);
}
inline float highest(VecF a) {
    return _mm512_reduce_max_ps(a);
}

}  // namespace
