// Activations to int8 with AVX2: a block of 32 is four vectors.
#include <immintrin.h>

#include "cpu/kernels/product_kernels.h"

namespace takt::cpu::avx2 {
namespace {

inline __m256i magnitude(const float* x) {
    return _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)),
                            _mm256_set1_epi32(0x7fffffff));
}

inline uint32_t largest_bits(const float* x) {
    const __m256i all = _mm256_max_epi32(_mm256_max_epi32(magnitude(x), magnitude(x + 8)),
                                         _mm256_max_epi32(magnitude(x + 16), magnitude(x + 24)));
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(four));
}

inline __m256i to_int(const float* x, __m256 factor) {
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x), factor);
    return _mm256_cvtps_epi32(_mm256_round_ps(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

inline void quantize_block(const float* x, float factor, int8_t* values, int32_t (&sums)[2]) {
    const __m256 wide = _mm256_set1_ps(factor);
    for (int half = 0; half < 2; ++half) {
        const __m256i a = to_int(x + 16 * half, wide), b = to_int(x + 16 * half + 8, wide);
        // packs works within 128-bit lanes, so the quarters come out as a0 b0 a1 b1.
        const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
        const __m128i bytes =
            _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(values + 16 * half), bytes);
        const __m256i eight = _mm256_add_epi32(a, b);
        __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
        sums[half] = _mm_cvtsi128_si32(four);
    }
}

inline void store_zeros(int8_t* values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), _mm256_setzero_si256());
}

}  // namespace

#include "cpu/kernels/quantize_blocks.h"

}  // namespace takt::cpu::avx2
