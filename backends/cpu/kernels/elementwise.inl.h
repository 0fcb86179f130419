// Kernels over rows of float, written once for every ISA. Included inside an ISA's namespace after
// wide.inl.h.

namespace {

// Four running sums hide the latency of the additions; they are merged in one order.
inline float sum_of_squares(const float* in, size_t n) {
    Wide sums[4] = {wide_splat(0), wide_splat(0), wide_splat(0), wide_splat(0)};
    size_t i = 0;
    for (; i + 4 * kRowLanes <= n; i += 4 * kRowLanes) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
            const Wide x = wide_load(in + i + j * kRowLanes);
            sums[j] = wide_fma(x, x, sums[j]);
        }
    }
    for_each_wide(n - i, [&](size_t at, int count) {
        const Wide x = load_up_to(in + i + at, count);
        sums[0] = wide_fma(x, x, sums[0]);
    });
    return wide_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

void rms_norm(const float* in, const float* weight, float* out, size_t n, float epsilon) {
    const float mean = sum_of_squares(in, n) / static_cast<float>(n);
    const Wide factor = wide_splat(1.0f / __builtin_sqrtf(mean + epsilon));
    for_each_wide(n, [&](size_t i, int count) {
        store_up_to(out + i, (load_up_to(in + i, count) * factor) * load_up_to(weight + i, count), count);
    });
}

inline Wide rotated(const Wide& x, const Wide& partner, const float* cosines, const float* sines, int n) {
    return wide_fma(x, load_up_to(cosines, n), partner * load_up_to(sines, n));
}

// Pairs (2 i, 2 i + 1): the partner is the neighbouring lane.
inline void rope_pairs(const float* in, float* out, const RopeCall& call) {
    for_each_wide(call.rotated_dim, [&](size_t i, int n) {
        const Wide x = load_up_to(in + i, n);
        store_up_to(out + i, rotated(x, wide_swap_pairs(x), call.cosines + i, call.sines + i, n), n);
    });
}

// Pairs (i, i + half): the partner lies half the rotated values away.
inline void rope_halves(const float* in, float* out, const RopeCall& call) {
    const size_t half = call.rotated_dim / 2;
    for_each_wide(half, [&](size_t i, int n) {
        const Wide a = load_up_to(in + i, n), b = load_up_to(in + half + i, n);
        store_up_to(out + i, rotated(a, b, call.cosines + i, call.sines + i, n), n);
        store_up_to(out + half + i, rotated(b, a, call.cosines + half + i, call.sines + half + i, n), n);
    });
}

void rope(const RopeCall& call) {
    for (uint32_t head = 0; head < call.n_heads; ++head) {
        const float* in = call.in + size_t{head} * call.head_dim;
        float* out = call.out + size_t{head} * call.head_dim;
        if (call.interleaved) {
            rope_pairs(in, out, call);
        } else {
            rope_halves(in, out, call);
        }
        if (in == out) continue;
        for (uint32_t i = call.rotated_dim; i < call.head_dim; ++i) out[i] = in[i];
    }
}

// x * sigmoid(x)
void silu_gate(const float* gate, const float* up, float* out, size_t n) {
    for_each_wide(n, [&](size_t i, int count) {
        const Wide x = load_up_to(gate + i, count);
        const Wide activated = x / (wide_splat(1.0f) + wide_exp(wide_splat(0.0f) - x));
        store_up_to(out + i, activated * load_up_to(up + i, count), count);
    });
}

// 0.5 x (1 + tanh(u)) is x * sigmoid(2 u), with u = sqrt(2 / pi) (x + 0.044715 x^3).
void gelu_tanh_gate(const float* gate, const float* up, float* out, size_t n) {
    const Wide minus_two_root = wide_splat(-1.59576912f);
    for_each_wide(n, [&](size_t i, int count) {
        const Wide x = load_up_to(gate + i, count);
        const Wide cubic = wide_fma((x * x) * x, wide_splat(0.044715f), x);
        const Wide activated = x / (wide_splat(1.0f) + wide_exp(cubic * minus_two_root));
        store_up_to(out + i, activated * load_up_to(up + i, count), count);
    });
}

void add_rows(const float* a, const float* b, float* out, size_t n) {
    for_each_wide(n, [&](size_t i, int count) {
        store_up_to(out + i, load_up_to(a + i, count) + load_up_to(b + i, count), count);
    });
}

void scale_row(const float* in, float factor, float* out, size_t n) {
    for_each_wide(n, [&](size_t i, int count) {
        store_up_to(out + i, load_up_to(in + i, count) * wide_splat(factor), count);
    });
}

void soft_cap_row(const float* in, float cap, float* out, size_t n) {
    for_each_wide(n, [&](size_t i, int count) {
        store_up_to(out + i, wide_splat(cap) * wide_tanh(load_up_to(in + i, count) / wide_splat(cap)), count);
    });
}

void to_half(const float* in, uint16_t* out, size_t n) {
    for_each_wide(n, [&](size_t i, int count) {
        if (count == kRowLanes) return wide_store_half(out + i, wide_load(in + i));
        uint16_t last[kRowLanes];
        wide_store_half(last, wide_load_first(in + i, count));
        for (int j = 0; j < count; ++j) out[i + j] = last[j];
    });
}

// The scale is the largest magnitude / 127, rounded to float16 before the values are divided by it. Adding
// kRounder leaves the nearest integer in a float's lowest bits.
void to_q8_0(const float* in, int8_t* out, uint16_t* scales, size_t n) {
    for (size_t block = 0; block < n / kKvBlock; ++block) {
        Wide largest = wide_splat(0), not_finite = wide_splat(0);
        for (size_t i = block * kKvBlock; i < (block + 1) * kKvBlock; i += kRowLanes) {
            const Wide x = wide_load(in + i);
            largest = wide_max(largest, wide_max(x, wide_splat(0) - x));
            not_finite = not_finite + (x - x);
        }
        uint16_t half[kRowLanes];
        float scale[kRowLanes];
        wide_store_half(half, wide_splat(wide_highest(largest) / 127.0f + wide_sum(not_finite)));
        wide_store(scale, wide_load_half(half));
        scales[block] = half[0];
        const Wide inverse = wide_splat(scale[0] > 0 ? 1.0f / scale[0] : 0.0f);
        for (size_t i = block * kKvBlock; i < (block + 1) * kKvBlock; i += kRowLanes) {
            const Wide x = wide_max(wide_splat(-127), wide_min(wide_splat(127), wide_load(in + i) * inverse));
            float rounded[kRowLanes];
            wide_store(rounded, x + wide_splat(kRounder));
            for (size_t j = 0; j < kRowLanes; ++j)
                out[i + j] = static_cast<int8_t>(__builtin_bit_cast(uint32_t, rounded[j]));
        }
    }
}

// First the highest value, then where it stands. x * 0 is 0 for finite values alone.
ArgmaxResult argmax(const float* x, size_t n) {
    Wide best = wide_splat(-__builtin_inff()), zeros = wide_splat(0);
    size_t i = 0;
    for (; i + kRowLanes <= n; i += kRowLanes) {
        const Wide value = wide_load(x + i);
        best = wide_max(best, value);
        zeros = wide_fma(value, wide_splat(0), zeros);
    }
    ArgmaxResult result{wide_highest(best), 0, true};
    float left = wide_sum(zeros);
    for (; i < n; ++i) {
        result.highest = x[i] > result.highest ? x[i] : result.highest;
        left += x[i] * 0.0f;
    }
    result.finite = left == 0.0f;
    if (!result.finite) return result;
    while (x[result.index] != result.highest) ++result.index;
    return result;
}

float read(const float* x, size_t n) {
    constexpr size_t kChains = 8;
    Wide sums[kChains];
    for (Wide& sum : sums) sum = wide_splat(0);
    for (size_t i = 0; i + kChains * kRowLanes <= n; i += kChains * kRowLanes) {
#pragma GCC unroll 8
        for (size_t j = 0; j < kChains; ++j) sums[j] = sums[j] + wide_load(x + i + j * kRowLanes);
    }
    Wide all = sums[0];
    for (size_t j = 1; j < kChains; ++j) all = all + sums[j];
    return wide_sum(all);
}

}  // namespace

void set_elementwise(RowKernels& rows) {
    rows.rms_norm = rms_norm;
    rows.rope = rope;
    rows.silu_gate = silu_gate;
    rows.gelu_tanh_gate = gelu_tanh_gate;
    rows.add = add_rows;
    rows.scale = scale_row;
    rows.soft_cap = soft_cap_row;
    rows.to_half = to_half;
    rows.to_q8_0 = to_q8_0;
    rows.argmax = argmax;
    rows.read = read;
}
