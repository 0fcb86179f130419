// Attention kernels of every instruction set and form of keys and values against softmax in double, and
// against each other bit by bit.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "row_kernel_levels.h"
#include "tensor/dequantize.h"

using namespace takt;
using namespace takt::cpu;
using namespace takt::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNan = std::numeric_limits<float>::quiet_NaN();
constexpr KvForm kForms[] = {KvForm::f16, KvForm::q8_0, KvForm::f32};

// Elements of a form, the scales that belong to them, and the floats they stand for.
struct Stored {
    std::vector<std::byte> bytes;
    std::vector<uint16_t> scales;
    std::vector<float> floats;

    template <typename T>
    void append(T element) {
        const auto* from = reinterpret_cast<const std::byte*>(&element);
        bytes.insert(bytes.end(), from, from + sizeof(T));
    }
};

// `scale_of` gives the index of the scale of element i.
template <typename ScaleOf>
Stored store(KvForm form, const std::vector<float>& floats, size_t n_scales, ScaleOf scale_of) {
    Stored stored;
    for (const float x : random_floats(n_scales, 0.002f, 17)) stored.scales.push_back(f32_to_f16(0.006f + x));
    for (size_t i = 0; i < floats.size(); ++i) {
        if (form == KvForm::f16) {
            stored.append(f32_to_f16(floats[i]));
            stored.floats.push_back(f16_to_f32(f32_to_f16(floats[i])));
        } else if (form == KvForm::f32) {
            stored.append(floats[i]);
            stored.floats.push_back(floats[i]);
        } else {
            const auto element =
                static_cast<int8_t>(std::isnan(floats[i]) ? 0 : std::lround(floats[i] * 127));
            stored.append(element);
            if (std::isnan(floats[i])) stored.scales[scale_of(i)] = f32_to_f16(kNan);
            stored.floats.push_back(static_cast<float>(element) * f16_to_f32(stored.scales[scale_of(i)]));
        }
    }
    return stored;
}

size_t element_size(KvForm form) {
    return form == KvForm::q8_0 ? 1 : form == KvForm::f16 ? 2 : 4;
}

struct Shape {
    uint32_t key_dim, value_dim, n_positions, n_queries, from;
    float soft_cap;
};

// Keys and values of one head over several tiles, with everything a kernel call needs.
struct AttentionCase {
    KvForm form;
    Shape shape;
    float scale = 0.3f;
    std::vector<float> queries;
    size_t padded_positions, padded_dim;
    Stored keys, values;  // [key_dim][positions of whole tiles], [positions][padded value_dim]

    AttentionCase(KvForm of, const Shape& s)
        : form(of),
          shape(s),
          queries(random_floats(size_t{s.n_queries} * s.key_dim, 2, 11)),
          padded_positions((s.n_positions + kTilePositions - 1) / kTilePositions * kTilePositions),
          padded_dim((s.value_dim + 15) / 16 * 16) {
        std::vector<float> key = random_floats(s.key_dim * padded_positions, 1, 12),
                           value = random_floats(padded_positions * padded_dim, 1, 13);
        // What lies past the last position belongs to nobody and must not be read as a number.
        for (size_t p = s.n_positions; p < padded_positions; ++p) {
            for (size_t d = 0; d < s.key_dim; ++d) key[d * padded_positions + p] = kNan;
            for (size_t d = 0; d < padded_dim; ++d) value[p * padded_dim + d] = kNan;
        }
        keys = store(of, key, (s.key_dim + 31) / 32 * padded_positions, [&](size_t i) {
            return i / padded_positions / kKvBlock * padded_positions + i % padded_positions;
        });
        values = store(of, value, (value.size() + 31) / 32, [](size_t i) { return i / kKvBlock; });
    }

    void point(AttentionTile& tile, uint32_t base) const {
        for (uint32_t b = 0; b < kTileBlocks; ++b) {
            const size_t first = base + b * kRowLanes;
            tile.keys[b] = keys.bytes.data() + first * element_size(form);
            tile.key_stride[b] = padded_positions;
            tile.key_scales[b] = keys.scales.data() + first;
            tile.values[b] = values.bytes.data() + first * padded_dim * element_size(form);
            tile.value_scales[b] = values.scales.data() + first * padded_dim / kKvBlock;
        }
    }

    // Adds positions [from, to) to the states of queries [first, first + n).
    void attend(const RowKernels& rows, uint32_t first, uint32_t n, uint32_t from, uint32_t to,
                float* states) const {
        std::vector<float> scores(n * (kTilePositions + kRowLanes)),
            widened(kTilePositions * (shape.key_dim + padded_dim + padded_dim / kKvBlock));
        std::vector<const float*> starts;
        for (uint32_t q = 0; q < n; ++q) starts.push_back(queries.data() + size_t{first + q} * shape.key_dim);
        AttentionTile tile;
        tile.form = form;
        tile.value_stride = padded_dim;
        tile.key_dim = shape.key_dim;
        tile.value_dim = shape.value_dim;
        tile.scale = scale;
        tile.soft_cap = shape.soft_cap;
        tile.queries = starts.data();
        tile.n_queries = n;
        tile.states = states;
        tile.state_stride = kStateValues + padded_dim;
        tile.scores = scores.data();
        tile.widened = widened.data();
        for (uint32_t base = from / kTilePositions * kTilePositions; base < to; base += kTilePositions) {
            point(tile, base);
            tile.first = std::max(from, base) - base;
            tile.end = std::min(to, base + kTilePositions) - base;
            rows.attend(tile);
        }
    }

    std::vector<float> start(uint32_t n) const {
        std::vector<float> states(n * (kStateValues + padded_dim));
        for (size_t q = 0; q < n; ++q) states[q * (kStateValues + padded_dim) + kStateHighest] = -kInfinity;
        return states;
    }

    // Queries [first, first + n) over everything they see.
    std::vector<float> run(const RowKernels& rows, uint32_t first, uint32_t n) const {
        std::vector<float> states = start(n), out(size_t{n} * shape.value_dim);
        attend(rows, first, n, shape.from, shape.n_positions, states.data());
        for (uint32_t q = 0; q < n; ++q) {
            rows.finish_state(states.data() + q * (kStateValues + padded_dim),
                              out.data() + size_t{q} * shape.value_dim, shape.value_dim);
        }
        return out;
    }

    double expected(uint32_t query, uint32_t dim) const {
        double sum = 0, weighted = 0;
        for (uint32_t p = shape.from; p < shape.n_positions; ++p) {
            double score = 0;
            for (uint32_t d = 0; d < shape.key_dim; ++d) {
                score += static_cast<double>(queries[size_t{query} * shape.key_dim + d]) *
                         keys.floats[d * padded_positions + p];
            }
            score *= scale;
            if (shape.soft_cap > 0) score = shape.soft_cap * std::tanh(score / shape.soft_cap);
            const double weight = std::exp(score);
            sum += weight;
            weighted += weight * values.floats[p * padded_dim + dim];
        }
        return weighted / sum;
    }
};

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

TEST_CASE("attention is softmax's weighted sum, for any form, dimensions, parts of tiles and soft caps") {
    for (const KvForm form : kForms) {
        for (const Shape& shape :
             {Shape{64, 64, 200, 3, 0, 0}, Shape{20, 24, 1, 1, 0, 0}, Shape{16, 80, 130, 13, 70, 0},
              Shape{128, 128, 64, 6, 0, 0}, Shape{8, 256, 97, 48, 96, 0}, Shape{64, 64, 150, 7, 3, 2.5f},
              Shape{96, 32, 140, 48, 17, 0}}) {
            if (form == KvForm::q8_0 && (shape.key_dim % kKvBlock != 0 || shape.value_dim % kKvBlock != 0))
                continue;
            const AttentionCase test(form, shape);
            std::vector<float> first;
            for (const RowKernels& rows : all_levels()) {
                const std::vector<float> all = test.run(rows, 0, shape.n_queries);
                for (size_t i = 0; i < all.size(); ++i) {
                    const double want = test.expected(static_cast<uint32_t>(i / shape.value_dim),
                                                      static_cast<uint32_t>(i % shape.value_dim));
                    if (!(std::abs(all[i] - want) <= 2e-6 * (std::abs(want) + 1)))
                        FAIL_CHECK("value " << i << " is " << all[i] << ", must be " << want);
                }
                if (first.empty()) first = all;
                CHECK(same_bits(all, first));
                // A query alone gets the bits it gets among others.
                for (uint32_t q = 0; q < shape.n_queries; ++q) {
                    const size_t start = size_t{q} * shape.value_dim;
                    CHECK(same_bits(test.run(rows, q, 1), std::span(all).subspan(start, shape.value_dim)));
                }
            }
        }
    }
}

TEST_CASE("states of two halves merge to the state of the whole") {
    for (const KvForm form : kForms) {
        const AttentionCase test(form, {32, 64, 256, 1, 0, 0});
        for (const RowKernels& rows : all_levels()) {
            const std::vector<float> whole = test.run(rows, 0, 1);
            std::vector<float> early = test.start(1), late = test.start(1), out(test.shape.value_dim);
            test.attend(rows, 0, 1, 0, 128, early.data());
            test.attend(rows, 0, 1, 128, 256, late.data());
            rows.merge_states(early.data(), late.data(), test.shape.value_dim);
            rows.finish_state(early.data(), out.data(), test.shape.value_dim);
            for (size_t d = 0; d < out.size(); ++d) CHECK(out[d] == Approx(whole[d]).margin(1e-6));
        }
    }
}

TEST_CASE("what is fetched ahead changes nothing") {
    const AttentionCase test(KvForm::f16, {64, 64, 128, 7, 0, 0});
    for (const RowKernels& rows : all_levels()) {
        std::vector<float> plain = test.start(7), fetching = plain, scores(7 * (kTilePositions + kRowLanes));
        test.attend(rows, 0, 7, 0, kTilePositions, plain.data());
        std::vector<const float*> starts;
        for (size_t q = 0; q < 7; ++q) starts.push_back(test.queries.data() + q * 64);
        AttentionTile tile;
        test.point(tile, 0);
        tile.end = kTilePositions;
        tile.value_stride = tile.key_dim = tile.value_dim = 64;
        tile.scale = test.scale;
        tile.queries = starts.data();
        tile.n_queries = 7;
        tile.states = fetching.data();
        tile.state_stride = kStateValues + 64;
        tile.scores = scores.data();
        tile.n_ahead = 2;
        tile.ahead[0] = {test.keys.bytes.data(), 3};
        tile.ahead[1] = {test.values.bytes.data(), 128};
        rows.attend(tile);
        CHECK(same_bits(plain, fetching));
    }
}
