// Activations to int8 with AVX-512: a block of 32 is two vectors.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx512 {
namespace {

inline uint32_t largest_bits(const float* x) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    const __m512i a = _mm512_and_si512(_mm512_loadu_si512(x), magnitude),
                  b = _mm512_and_si512(_mm512_loadu_si512(x + 16), magnitude);
    return static_cast<uint32_t>(_mm512_reduce_max_epi32(_mm512_max_epi32(a, b)));
}

inline __m512i to_int(const float* x, __m512 factor) {
    return _mm512_cvt_roundps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), factor),
                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

inline void quantize_block(const float* x, float factor, int8_t* values, int32_t (&sums)[2]) {
    const __m512 wide = _mm512_set1_ps(factor);
    for (int half = 0; half < 2; ++half) {
        const __m512i q = to_int(x + 16 * half, wide);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(values + 16 * half), _mm512_cvtepi32_epi8(q));
        sums[half] = _mm512_reduce_add_epi32(q);
    }
}

inline void store_zeros(int8_t* values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), _mm256_setzero_si256());
}

}  // namespace

#include "cpu/kernels/quantize_blocks.h"

}  // namespace takt::cpu::avx512
