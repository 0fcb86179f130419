// The vectors that GCC and clang know, which they cut into what the ISA has. No bit depends on that: sums run
// in kLanes chains that are added in order.
#include "sampler/logit_blocks.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace takt {
namespace {

#define TAKT_INLINE inline __attribute__((always_inline))

// Sixteen values side by side; never passed by value, whose calling convention depends on the ISA.
constexpr size_t kLanes = 16;
using Floats = float __attribute__((vector_size(4 * kLanes)));
using Ints = int32_t __attribute__((vector_size(4 * kLanes)));
static_assert(kLogitBlock % kLanes == 0);

TAKT_INLINE void load(const float* from, Floats& to) {
    std::memcpy(&to, from, sizeof to);
}

// e^x for x <= 0, within 2e-7; 0 below -88.
TAKT_INLINE void to_exp(Floats& x) {
    constexpr float kRounder =
        12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the lowest bits
    constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
    x = x < -1000.0f ? Floats{} - 1000.0f : x;
    const Floats rounded = x * 1.44269504f + kRounder;
    const Floats n = rounded - kRounder;
    const Floats r = (x - n * kLn2High) - n * kLn2Low;
    Floats sum = r * (1.0f / 5040) + 1.0f / 720;
    sum = sum * r + 1.0f / 120;
    sum = sum * r + 1.0f / 24;
    sum = sum * r + 1.0f / 6;
    sum = sum * r + 0.5f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    Ints exponent;
    std::memcpy(&exponent, &rounded, sizeof exponent);
    exponent = exponent - std::bit_cast<int32_t>(kRounder) + 127;
    exponent = (exponent > 0 ? exponent : Ints{}) << 23;
    Floats power;
    std::memcpy(&power, &exponent, sizeof power);
    x = sum * power;
}

TAKT_INLINE void weigh(const float* logits, float highest, float inverse_temperature, Floats& weights) {
    load(logits, weights);
    // Halves, whose difference is always finite; a factor of two loses no bit.
    weights = (weights * 0.5f - highest * 0.5f) * (inverse_temperature * 2);
    to_exp(weights);
}

TAKT_INLINE float sum_of(const float* logits, float highest, float inverse_temperature) {
    Floats lanes = {};
    for (size_t i = 0; i < kLogitBlock; i += kLanes) {
        Floats weights;
        weigh(logits + i, highest, inverse_temperature, weights);
        lanes += weights;
    }
    float sum = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
    return sum;
}

// Logits of a block that is cut short, the rest as `filler`.
struct Padded {
    float values[kLogitBlock];
    Padded(std::span<const float> logits, float filler) {
        std::fill(std::copy(logits.begin(), logits.end(), values), values + kLogitBlock, filler);
    }
};

TAKT_INLINE bool maximum_of(const float* logits, float& highest) {
    Floats most, zeros = {};  // what isn't finite makes a NaN of zero times itself
    load(logits, most);
    for (size_t i = 0; i < kLogitBlock; i += kLanes) {
        Floats x;
        load(logits + i, x);
        most = x > most ? x : most;
        zeros += x * 0.0f;
    }
    highest = most[0];
    float zero = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) {
        highest = most[lane] > highest ? most[lane] : highest;
        zero += zeros[lane];
    }
    return zero == 0;
}

TAKT_INLINE bool all_maxima(std::span<const float> logits, std::span<float> maxima) {
    bool finite = true;
    size_t block = 0;
    for (; (block + 1) * kLogitBlock <= logits.size(); ++block) {
        finite &= maximum_of(logits.data() + block * kLogitBlock, maxima[block]);
    }
    if (const auto rest = logits.subspan(block * kLogitBlock); !rest.empty()) {
        const Padded padded(rest, rest.front());
        finite &= maximum_of(padded.values, maxima[block]);
    }
    return finite;
}

TAKT_INLINE void all_weights(std::span<const float> logits, float highest, float inverse_temperature,
                             std::span<float> sums) {
    size_t block = 0;
    for (; (block + 1) * kLogitBlock <= logits.size(); ++block) {
        sums[block] = sum_of(logits.data() + block * kLogitBlock, highest, inverse_temperature);
    }
    if (const auto rest = logits.subspan(block * kLogitBlock); !rest.empty()) {
        const Padded padded(rest, -std::numeric_limits<float>::infinity());
        sums[block] = sum_of(padded.values, highest, inverse_temperature);
    }
}

// The two passes compiled for one ISA.
struct Passes {
    bool (*maxima)(std::span<const float> logits, std::span<float> maxima);
    void (*weights)(std::span<const float> logits, float highest, float inverse_temperature,
                    std::span<float> sums);
};
#define TAKT_PASSES(name, attributes)                                                           \
    struct name {                                                                               \
        attributes static bool maxima(std::span<const float> logits, std::span<float> maxima) { \
            return all_maxima(logits, maxima);                                                  \
        }                                                                                       \
        attributes static void weights(std::span<const float> logits, float highest,            \
                                       float inverse_temperature, std::span<float> sums) {      \
            all_weights(logits, highest, inverse_temperature, sums);                            \
        }                                                                                       \
    };
TAKT_PASSES(Plain, )
#if defined(__x86_64__)
TAKT_PASSES(Avx2, __attribute__((target("avx2"))))
TAKT_PASSES(Avx512, __attribute__((target("avx512f"))))
#endif

const Passes& passes() {
    static const Passes chosen = [] {
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx512f")) return Passes{Avx512::maxima, Avx512::weights};
        if (__builtin_cpu_supports("avx2")) return Passes{Avx2::maxima, Avx2::weights};
#endif
        return Passes{Plain::maxima, Plain::weights};
    }();
    return chosen;
}

}  // namespace

bool block_maxima(std::span<const float> logits, std::span<float> maxima) {
    return passes().maxima(logits, maxima);
}

void block_weights(std::span<const float> logits, float highest, float inverse_temperature,
                   std::span<float> sums) {
    passes().weights(logits, highest, inverse_temperature, sums);
}

void weights_of_block(std::span<const float> logits, float highest, float inverse_temperature,
                      std::span<float> weights) {
    const Padded padded(logits, -std::numeric_limits<float>::infinity());
    for (size_t i = 0; i < logits.size(); i += kLanes) {
        Floats some;
        weigh(padded.values + i, highest, inverse_temperature, some);
        for (size_t lane = 0; lane < std::min(kLanes, logits.size() - i); ++lane)
            weights[i + lane] = some[lane];
    }
}

}  // namespace takt
