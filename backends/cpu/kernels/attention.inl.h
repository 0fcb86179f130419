// Attention of a few queries over tiles of positions, written once for every ISA. Included inside an ISA's
// namespace after wide.inl.h and
//   kTileQueries, kTileVectors   queries, and vectors of positions or dimensions, whose sums the registers
//   hold at once
//
// No sum runs across lanes: a score is one chain over the dimensions with positions as lanes, an output one
// chain over the positions with dimensions as lanes. A query's bits depend on its own positions alone, never
// on the queries beside it.

namespace {

constexpr float kLowest = -__builtin_inff();
constexpr size_t kScoreStride =
    kTilePositions + kRowLanes;  // the last lanes hold a query's factor for what was summed before

inline float* scores_of(const AttentionTile& tile, size_t query) {
    return tile.scores + query * kScoreStride;
}
inline float* state_of(const AttentionTile& tile, size_t query) {
    return tile.states + query * tile.state_stride;
}

template <int kQueries, int kVectors>
void score_block(const AttentionTile& tile, size_t first_query, int first_vector) {
    Wide sums[kQueries][kVectors];
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sums[q][v] = wide_splat(0);
    }
    const float* query[kQueries];
    for (int q = 0; q < kQueries; ++q) query[q] = tile.queries[first_query + q];
    const uint16_t* keys[kVectors];
    for (int v = 0; v < kVectors; ++v) keys[v] = tile.keys[first_vector + v];
    for (uint32_t d = 0; d < tile.key_dim; ++d) {
        Wide key[kVectors];
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
            key[v] = wide_load_half(keys[v]);
            keys[v] += tile.key_stride[first_vector + v];
        }
#pragma GCC unroll 16
        for (int q = 0; q < kQueries; ++q) {
            const Wide one = wide_splat(query[q][d]);
#pragma GCC unroll 16
            for (int v = 0; v < kVectors; ++v) sums[q][v] = wide_fma(one, key[v], sums[q][v]);
        }
    }
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
            wide_store(scores_of(tile, first_query + q) + (first_vector + v) * kRowLanes, sums[q][v]);
        }
    }
}

template <int kQueries, int kVectors>
void value_block(const AttentionTile& tile, size_t first_query, size_t first_dim) {
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
    for (uint32_t first = tile.first; first < tile.end;) {
        const uint32_t block = first / kRowLanes, block_end = (block + 1) * kRowLanes;
        const uint32_t end = block_end < tile.end ? block_end : tile.end;
        const uint16_t* value = tile.values[block] + first % kRowLanes * tile.value_stride + first_dim;
        for (uint32_t position = first; position < end; ++position, value += tile.value_stride) {
            Wide row[kVectors];
#pragma GCC unroll 16
            for (int v = 0; v < kVectors; ++v) row[v] = wide_load_half(value + v * kRowLanes);
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
}

// Scores, or values, of a number of queries and vectors that is known at run time only.
template <bool kScores, int kQueries, int kVectors>
void block_of(const AttentionTile& tile, int n_queries, int n_vectors, size_t first_query,
              size_t first_vector) {
    if constexpr (kQueries > 0 && kVectors > 0) {
        if (n_queries < kQueries)
            return block_of<kScores, kQueries - 1, kVectors>(tile, n_queries, n_vectors, first_query,
                                                             first_vector);
        if (n_vectors < kVectors)
            return block_of<kScores, kQueries, kVectors - 1>(tile, n_queries, n_vectors, first_query,
                                                             first_vector);
        if constexpr (kScores)
            score_block<kQueries, kVectors>(tile, first_query, static_cast<int>(first_vector));
        else
            value_block<kQueries, kVectors>(tile, first_query, first_vector * kRowLanes);
    }
}

// Queries in as few blocks as hold them, of nearly equal size.
template <bool kScores>
void for_blocks(const AttentionTile& tile, size_t first_vector, size_t end_vector) {
    size_t query = 0;
    for (size_t n_blocks = (tile.n_queries + kTileQueries - 1) / kTileQueries; n_blocks > 0; --n_blocks) {
        const size_t n = (tile.n_queries - query + n_blocks - 1) / n_blocks;
        for (size_t vector = first_vector; vector < end_vector; vector += kTileVectors) {
            const size_t left = end_vector - vector;
            block_of<kScores, kTileQueries, kTileVectors>(
                tile, static_cast<int>(n), left < kTileVectors ? static_cast<int>(left) : kTileVectors, query,
                vector);
        }
        query += n;
    }
}

// Scores of one query to weights: 2^(score - highest), and the factor for everything summed before.
inline void weigh(const AttentionTile& tile, size_t query, int first_vector, int end_vector) {
    float* scores = scores_of(tile, query);
    float* state = state_of(tile, query);
    Wide factor = wide_splat(tile.scale * kLog2E);
    if (tile.soft_cap > 0) {
        const Wide shrink = wide_splat(tile.scale / tile.soft_cap);
        for (int v = first_vector; v < end_vector; ++v) {
            wide_store(scores + v * kRowLanes, wide_tanh(wide_load(scores + v * kRowLanes) * shrink));
        }
        factor = wide_splat(tile.soft_cap * kLog2E);
    }
    for (uint32_t i = static_cast<uint32_t>(first_vector * kRowLanes); i < tile.first; ++i)
        scores[i] = kLowest;
    for (uint32_t i = tile.end; i < static_cast<uint32_t>(end_vector * kRowLanes); ++i) scores[i] = kLowest;
    Wide best = wide_splat(kLowest);
    for (int v = first_vector; v < end_vector; ++v) {
        const Wide score = wide_load(scores + v * kRowLanes) * factor;
        wide_store(scores + v * kRowLanes, score);
        best = wide_max(best, score);
    }
    const float before = state[kStateHighest], tile_best = wide_highest(best);
    const float highest = tile_best > before ? tile_best : before;
    const Wide after = wide_splat(highest);
    const Wide shrink_before = wide_exp2(wide_splat(before) - after);
    Wide sum = wide_load(state) * shrink_before;
    for (int v = first_vector; v < end_vector; ++v) {
        const Wide weight = wide_exp2(wide_load(scores + v * kRowLanes) - after);
        wide_store(scores + v * kRowLanes, weight);
        sum = sum + weight;
    }
    wide_store(state, sum);
    state[kStateHighest] = highest;
    wide_store(scores + kTilePositions, shrink_before);
}

void attend(const AttentionTile& tile) {
    const auto first_vector = static_cast<int>(tile.first) / kRowLanes;
    const int end_vector = (static_cast<int>(tile.end) + kRowLanes - 1) / kRowLanes;
    for_blocks<true>(tile, static_cast<size_t>(first_vector), static_cast<size_t>(end_vector));
    for (size_t query = 0; query < tile.n_queries; ++query) weigh(tile, query, first_vector, end_vector);
    for_blocks<false>(tile, 0, (tile.value_dim + kRowLanes - 1) / kRowLanes);
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
