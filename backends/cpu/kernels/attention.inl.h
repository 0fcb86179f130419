// Attention of a few queries over tiles of positions, written once for every ISA. Included inside an ISA's
// namespace after wide.inl.h and
//   kTileQueries, kTileVectors   queries, and vectors of positions or dimensions, whose sums the registers
//   hold at once
//
// No sum runs across lanes: a score is one chain over the dimensions with positions as lanes, an output one
// chain over the positions with dimensions as lanes. A query's bits depend on its own positions alone, never
// on the queries beside it.

#include "cpu/kernels/kv_forms.inl.h"

namespace {

// Queries above which a q8_0 tile is made float32 first: then its conversion serves several blocks of
// queries. For float16 it was no gain: 191 against 202 GFLOP/s with AVX-512, 112 against 117 with AVX2 (48
// queries, one Zen 5 core, 2026-11).
// Six queries of a decode step read 11.7 GB/s of q8_0 as stored and 6.3 widened first (AVX-512, same core).
constexpr size_t kWidenQueries = 2 * kTileQueries;
constexpr float kLowest = -__builtin_inff();
constexpr size_t kScoreStride =
    kTilePositions + kRowLanes;  // the last lanes hold a query's factor for what was summed before

inline float* scores_of(const AttentionTile& tile, size_t query) {
    return tile.scores + query * kScoreStride;
}
inline float* state_of(const AttentionTile& tile, size_t query) {
    return tile.states + query * tile.state_stride;
}

template <KvForm kForm, bool kFetch, int kQueries, int kVectors>
void score_block(const AttentionTile& tile, Ahead& ahead_of_tile, size_t first_query, int first_vector) {
    Ahead ahead = ahead_of_tile;
    Wide sums[kQueries][kVectors];
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sums[q][v] = wide_splat(0);
    }
    const float* query[kQueries];
    for (int q = 0; q < kQueries; ++q) query[q] = tile.queries[first_query + q];
    KeyReader<kForm, kVectors> keys(tile, first_vector);
    for (uint32_t first = 0; first < tile.key_dim;) {
        const uint32_t end = kForm == KvForm::q8_0 ? first + kKvBlock : tile.key_dim;
        keys.begin_block();
        for (; first < end; ++first) {
            if constexpr (kFetch) ahead.template fetch<lines_a_step<kForm, kVectors>()>();
            Wide key[kVectors];
#pragma GCC unroll 16
            for (int v = 0; v < kVectors; ++v) key[v] = keys.next(v);
#pragma GCC unroll 16
            for (int q = 0; q < kQueries; ++q) {
                const Wide one = wide_splat(query[q][first]);
#pragma GCC unroll 16
                for (int v = 0; v < kVectors; ++v) sums[q][v] = wide_fma(one, key[v], sums[q][v]);
            }
        }
    }
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
            wide_store(scores_of(tile, first_query + q) + (first_vector + v) * kRowLanes, sums[q][v]);
        }
    }
    ahead_of_tile = ahead;
}

template <KvForm kForm, bool kFetch, int kQueries, int kVectors>
void value_block(const AttentionTile& tile, Ahead& ahead_of_tile, size_t first_query, size_t first_dim) {
    Ahead ahead = ahead_of_tile;
    Wide sums[kQueries][kVectors];
    const float* weights[kQueries];
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q) {
        weights[q] = scores_of(tile, first_query + q);
        const float* state = state_of(tile, first_query + q) + kStateValues + first_dim;
        const Wide factor = wide_load(weights[q] + kTilePositions);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sums[q][v] = wide_load(state + v * kRowLanes) * factor;
    }
    const size_t row_bytes = tile.value_stride * element_bytes(kForm),
                 n_factors = tile.value_stride / kKvBlock;
    for (uint32_t first = tile.first; first < tile.end;) {
        const uint32_t block = first / kRowLanes, block_end = (block + 1) * kRowLanes;
        const uint32_t end = block_end < tile.end ? block_end : tile.end;
        const std::byte* value =
            tile.values[block] + first % kRowLanes * row_bytes + first_dim * element_bytes(kForm);
        for (uint32_t position = first; position < end; ++position, value += row_bytes) {
            if constexpr (kFetch) ahead.template fetch<lines_a_step<kForm, kVectors>()>();
            Wide row[kVectors];
#pragma GCC unroll 16
            for (int v = 0; v < kVectors; ++v) {
                row[v] = load_elements<kForm>(value + v * kRowLanes * element_bytes(kForm));
                if constexpr (kForm == KvForm::q8_0) {
                    const size_t dim = first_dim + static_cast<size_t>(v * kRowLanes);
                    row[v] = row[v] * wide_splat(tile.widened[position * n_factors + dim / kKvBlock]);
                }
            }
#pragma GCC unroll 16
            for (int q = 0; q < kQueries; ++q) {
                const Wide weight = wide_splat(weights[q][position]);
#pragma GCC unroll 16
                for (int v = 0; v < kVectors; ++v) sums[q][v] = wide_fma(weight, row[v], sums[q][v]);
            }
        }
        first = end;
    }
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q) {
        float* state = state_of(tile, first_query + q) + kStateValues + first_dim;
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) wide_store(state + v * kRowLanes, sums[q][v]);
    }
    ahead_of_tile = ahead;
}

// Scores, or values, of a number of queries and vectors that is known at run time only.
template <KvForm kForm, bool kFetch, bool kScores, int kQueries, int kVectors>
void block_of(const AttentionTile& tile, Ahead& ahead, int n_queries, int n_vectors, size_t first_query,
              size_t first_vector) {
    if constexpr (kQueries > 0 && kVectors > 0) {
        if (n_queries < kQueries)
            return block_of<kForm, kFetch, kScores, kQueries - 1, kVectors>(tile, ahead, n_queries, n_vectors,
                                                                            first_query, first_vector);
        if (n_vectors < kVectors)
            return block_of<kForm, kFetch, kScores, kQueries, kVectors - 1>(tile, ahead, n_queries, n_vectors,
                                                                            first_query, first_vector);
        if constexpr (kScores)
            score_block<kForm, kFetch, kQueries, kVectors>(tile, ahead, first_query,
                                                           static_cast<int>(first_vector));
        else
            value_block<kForm, kFetch, kQueries, kVectors>(tile, ahead, first_query,
                                                           first_vector * kRowLanes);
    }
}

// Queries in as few blocks as hold them, of nearly equal size. The first block fetches ahead.
template <KvForm kForm, bool kScores>
void for_blocks(const AttentionTile& tile, Ahead& ahead, size_t first_vector, size_t end_vector) {
    size_t query = 0;
    for (size_t n_blocks = (tile.n_queries + kTileQueries - 1) / kTileQueries; n_blocks > 0; --n_blocks) {
        const size_t n = (tile.n_queries - query + n_blocks - 1) / n_blocks;
        for (size_t vector = first_vector; vector < end_vector; vector += kTileVectors) {
            const size_t left = end_vector - vector;
            const int n_vectors = left < kTileVectors ? static_cast<int>(left) : kTileVectors;
            const auto block = query == 0 ? block_of<kForm, true, kScores, kTileQueries, kTileVectors>
                                          : block_of<kForm, false, kScores, kTileQueries, kTileVectors>;
            block(tile, ahead, static_cast<int>(n), n_vectors, query, vector);
        }
        query += n;
    }
}

// Scores of one query to weights: 2^(score - highest), and the factor for everything summed before.
inline void weigh(const AttentionTile& tile, size_t query, int first_vector, int end_vector) {
    float* scores = scores_of(tile, query);
    float* state = state_of(tile, query);
    float factor = tile.scale * kLog2E;
    if (tile.soft_cap > 0) {
        const Wide shrink = wide_splat(tile.scale / tile.soft_cap);
        for (int v = first_vector; v < end_vector; ++v) {
            wide_store(scores + v * kRowLanes, wide_tanh(wide_load(scores + v * kRowLanes) * shrink));
        }
        factor = tile.soft_cap * kLog2E;
    }
    for (uint32_t i = static_cast<uint32_t>(first_vector * kRowLanes); i < tile.first; ++i)
        scores[i] = kLowest;
    for (uint32_t i = tile.end; i < static_cast<uint32_t>(end_vector * kRowLanes); ++i) scores[i] = kLowest;
    Wide best = wide_splat(kLowest);
    for (int v = first_vector; v < end_vector; ++v) best = wide_max(best, wide_load(scores + v * kRowLanes));
    const float before = state[kStateHighest], tile_best = wide_highest(best) * factor;
    const float highest = tile_best > before ? tile_best : before;
    const Wide after = wide_splat(highest);
    const Wide shrink_before = wide_exp2(wide_splat(before) - after);
    Wide sum = wide_load(state) * shrink_before;
    for (int v = first_vector; v < end_vector; ++v) {
        const Wide weight = wide_exp2(wide_load(scores + v * kRowLanes) * wide_splat(factor) - after);
        wide_store(scores + v * kRowLanes, weight);
        sum = sum + weight;
    }
    wide_store(state, sum);
    state[kStateHighest] = highest;
    wide_store(scores + kTilePositions, shrink_before);
}

template <KvForm kForm>
void attend_to(const AttentionTile& tile) {
    const auto first_vector = static_cast<int>(tile.first) / kRowLanes;
    const int end_vector = (static_cast<int>(tile.end) + kRowLanes - 1) / kRowLanes;
    Ahead ahead(tile);
    for_blocks<kForm, true>(tile, ahead, static_cast<size_t>(first_vector), static_cast<size_t>(end_vector));
    for (size_t query = 0; query < tile.n_queries; ++query) weigh(tile, query, first_vector, end_vector);
    if (kForm == KvForm::q8_0) widen_value_scales(tile, tile.widened);
    for_blocks<kForm, false>(tile, ahead, 0, (tile.value_dim + kRowLanes - 1) / kRowLanes);
}

void attend(const AttentionTile& tile) {
    switch (tile.form) {
        case KvForm::f16:
            return attend_to<KvForm::f16>(tile);
        case KvForm::q8_0:
            if (tile.n_queries > kWidenQueries) return attend_to<KvForm::f32>(widened(tile));
            return attend_to<KvForm::q8_0>(tile);
        case KvForm::f32:
            return attend_to<KvForm::f32>(tile);
    }
}

void merge_states(float* into, const float* later, uint32_t value_dim) {
    const float a = into[kStateHighest], b = later[kStateHighest], highest = b > a ? b : a;
    const Wide shrink_into = wide_exp2(wide_splat(a) - wide_splat(highest));
    const Wide shrink_later = wide_exp2(wide_splat(b) - wide_splat(highest));
    wide_store(into, wide_fma(wide_load(into), shrink_into, wide_load(later) * shrink_later));
    for (size_t i = kStateValues; i < kStateValues + value_dim; i += kRowLanes) {
        wide_store(into + i, wide_fma(wide_load(into + i), shrink_into, wide_load(later + i) * shrink_later));
    }
    into[kStateHighest] = highest;
}

void finish_state(const float* state, float* out, uint32_t value_dim) {
    const Wide factor = wide_splat(1.0f / wide_sum(wide_load(state)));
    for_each_wide(value_dim, [&](size_t i, int n) {
        store_up_to(out + i, wide_load(state + kStateValues + i) * factor, n);
    });
}

}  // namespace

void set_attention(RowKernels& rows) {
    rows.attend = attend;
    rows.merge_states = merge_states;
    rows.finish_state = finish_state;
}
