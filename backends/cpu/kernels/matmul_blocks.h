// Products of packed block weights, written once for every ISA but scalar. Included inside an ISA's namespace
// after its vec_<isa>.h, store_output.h and a Dot type:
//
//   struct Dot {  // how four products a lane are added to int32 sums
//       // q8_0 weights are handed over as signed bytes, else as unsigned ones with an offset
//       static constexpr bool kSignedWeights;
//       // rows of x, and vectors of output rows, that one tile's registers hold
//       static constexpr int kTileRows, kTileVectors;
//       static constexpr int kTwoGroupRows;  // rows of a tile of q6_k, which also holds a block's parts
//       static constexpr int kLoneVectors;  // vectors of output rows of a tile of one row of x
//       // Adds to sum, maybe by way of 16-bit sums; kNth counts the steps of a group from 0.
//       using Pairs;
//       template <int kBits, int kNth> static void step(VecI& sum, Pairs& pairs, VecI weights, VecI x);
//       // true: several rows of x go through add_group instead, kSteps steps from kFirst at once; load<i>(v)
//       // gives what step i of vector v is handed, x[t] is where values of the block begin.
//       static constexpr bool kMatrix;
//       template <int kFirst, int kSteps> static void add_group(load, x, VecI (&dots)[rows][vectors]);
//       static constexpr int kFewRows;  // more than kTileRows: so many go by one tile of one vector; 0: none
//       do
//       // rows of x from which a tile's weights are unpacked once for all of them (block_weights.inl.h)
//       static constexpr int kUnpackRows;
//   };
//
// Every output is one chain: part = scale * float(dot), or (q6_k) fma(scale_1, float(dot_1), scale_0 *
// float(dot_0)); sum = fma(part, x_scale, sum), then (kinds with mins) sum = fma(min, x_scaled_sum, sum),
// block after block. Tiles differ in how many chains run side by side, never in a chain, so a row's bits
// don't depend on its batch.

#include "cpu/kernels/block_weights.inl.h"

namespace {

// Values 4 i to 4 i + 3 of the block; kNth counts the steps of the group.
template <int i, int kNth, typename Source, int kRows, int kVectors>
inline __attribute__((always_inline)) void step(const Source (&w)[kVectors],
                                                const std::byte* const (&x)[kRows], size_t block,
                                                VecI (&dots)[kRows][kVectors],
                                                Dot::Pairs (&pairs)[kRows][kVectors]) {
    VecI weights[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) weights[v] = w[v].template weights<i>(block);
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
        const VecI four = splat_i(*reinterpret_cast<const int*>(x[t] + kBlockValues * block + 4 * i));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
            Dot::step<Source::T::kBits, kNth>(dots[t][v], pairs[t][v], weights[v], four);
        }
    }
}

// The integer sums of one group of a block, offset undone.
template <int kGroup, typename Source, int kRows, int kVectors, typename D = Dot>
inline __attribute__((always_inline)) void dot_group(const MatmulCall& call, const Source (&w)[kVectors],
                                                     const std::byte* const (&x)[kRows], size_t block,
                                                     VecI (&dots)[kRows][kVectors]) {
    using T = Source::T;
    Dot::Pairs pairs[kRows][kVectors];
    constexpr bool kUndo = T::kOffset && !(T::kEightBits && Dot::kSignedWeights);
    constexpr int kShift = T::kEightBits ? 7 : T::kSixBits ? 5 : T::kFifthBit ? 4 : 3;
    const size_t offset_at = T::kSixBits ? call.x_layout.minus_half_sums_offset + 8 * block + 4 * kGroup
                                         : call.x_layout.minus_sums_offset + 4 * block;
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
        VecI start = zero_i();
        if constexpr (kUndo)
            start = shift_left<kShift>(splat_i(*reinterpret_cast<const int*>(x[t] + offset_at)));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
            dots[t][v] = start;
            pairs[t][v] = Dot::Pairs{};
        }
    }
    if constexpr (Dot::kMatrix && kRows > 1) {
        const auto load = [&]<int i>(int v) { return w[v].template weights<i>(block); };
        const std::byte* values[kRows];
        for (int t = 0; t < kRows; ++t) values[t] = x[t] + kBlockValues * block;
        D::template add_group<T::kSixBits ? 4 * kGroup : 0, T::kSixBits ? 4 : 8>(load, values, dots);
    } else if constexpr (T::kSixBits) {
        step<4 * kGroup, 0>(w, x, block, dots, pairs);
        step<4 * kGroup + 1, 1>(w, x, block, dots, pairs);
        step<4 * kGroup + 2, 2>(w, x, block, dots, pairs);
        step<4 * kGroup + 3, 3>(w, x, block, dots, pairs);
    } else {  // both nibbles of a vector one after the other
        step<0, 0>(w, x, block, dots, pairs);
        step<4, 1>(w, x, block, dots, pairs);
        step<1, 2>(w, x, block, dots, pairs);
        step<5, 3>(w, x, block, dots, pairs);
        step<2, 4>(w, x, block, dots, pairs);
        step<6, 5>(w, x, block, dots, pairs);
        step<3, 6>(w, x, block, dots, pairs);
        step<7, 7>(w, x, block, dots, pairs);
    }
}

// A block's part of every chain but for its scale of x.
template <typename Source, int kRows, int kVectors>
inline __attribute__((always_inline)) void block_parts(const MatmulCall& call, const Source (&w)[kVectors],
                                                       const std::byte* const (&x)[kRows], size_t block,
                                                       VecF (&parts)[kRows][kVectors]) {
    VecI dots[kRows][kVectors];
    dot_group<0>(call, w, x, block, dots);
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) parts[t][v] = mul(w[v].scales(block, 0), to_float(dots[t][v]));
    }
    if constexpr (Source::T::kGroups == 2) {
        dot_group<1>(call, w, x, block, dots);
#pragma GCC unroll 16
        for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v)
                parts[t][v] = fma(w[v].scales(block, 1), to_float(dots[t][v]), parts[t][v]);
        }
    }
}

template <typename Source, int kRows, int kVectors>
inline __attribute__((always_inline)) void add_block(const MatmulCall& call, const Source (&w)[kVectors],
                                                     const std::byte* const (&x)[kRows], size_t block,
                                                     VecF (&sums)[kRows][kVectors]) {
    using T = Source::T;
    VecF parts[kRows][kVectors];
    block_parts(call, w, x, block, parts);
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
        const VecF x_scale =
            splat(*reinterpret_cast<const float*>(x[t] + call.x_layout.scales_offset + 4 * block));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[t][v] = fma(parts[t][v], x_scale, sums[t][v]);
    }
    if constexpr (T::kMins) {
        VecF mins[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) mins[v] = w[v].mins(block);
#pragma GCC unroll 16
        for (int t = 0; t < kRows; ++t) {
            const VecF x_sum =
                splat(*reinterpret_cast<const float*>(x[t] + call.x_layout.scaled_sums_offset + 4 * block));
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                sums[t][v] =
                    T::kSuperMins ? fma_minus(mins[v], x_sum, sums[t][v]) : fma(mins[v], x_sum, sums[t][v]);
            }
        }
    }
}

// Asks for the next tile's weights while this one is computed, each line once, at the pace of the blocks. The
// processor's own prefetchers lose the several short sections of a panel: without this one row reached 67 %
// (q4_1) and 43 % (q4_k) of the read bandwidth.
struct Ahead {
    const char* next = nullptr;  // nullptr: nothing to ask for
    size_t lines_a_block = 0;
};

inline __attribute__((always_inline)) void ask(Ahead& ahead) {
    if (ahead.next == nullptr) return;
    for (size_t i = 0; i < ahead.lines_a_block; ++i) __builtin_prefetch(ahead.next + 64 * i);
    ahead.next += 64 * ahead.lines_a_block;
}

// Vectors of output rows side by side. One past the end repeats the last one and isn't written.
template <typename Source, int kVectors>
struct Vectors {
    Source w[kVectors];
    size_t first, end;
};

// kRows rows of x with kVectors vectors of output rows, all k.
template <typename Source, int kRows, int kVectors>
void tile(const MatmulCall& call, const Vectors<Source, kVectors>& vectors, size_t first_row, Ahead ahead) {
    const std::byte* x[kRows];
    VecF sums[kRows][kVectors];
    Source w[kVectors];
    for (int v = 0; v < kVectors; ++v) w[v] = vectors.w[v];
    for (int t = 0; t < kRows; ++t) x[t] = call.x + (first_row + t) * call.x_row_bytes;
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[t][v] = zero_f();
    }
    for (size_t block = 0; block < call.layout.n_blocks; ++block) {
        ask(ahead);
        add_block(call, w, x, block, sums);
    }
    const size_t first_output = vectors.first * kLanes, end_output = (vectors.first + kVectors) * kLanes;
    // Most tiles have all their outputs; asking for each cost 3 % of a tile's time at 1536 columns.
    if (vectors.first + kVectors <= vectors.end && end_output <= call.layout.rows) {
        float* out = call.out + first_row * call.out_stride + first_output;
        const float* bias = call.bias == nullptr ? nullptr : call.bias + first_output;
#pragma GCC unroll 16
        for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                VecF sum = sums[t][v];
                float* at = out + t * call.out_stride + v * kLanes;
                if (bias != nullptr) sum = add(sum, load(bias + v * kLanes));
                store(at, call.accumulate ? add(load(at), sum) : sum);
            }
        }
        return;
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
        if (vectors.first + v >= vectors.end) break;
#pragma GCC unroll 16
        for (int t = 0; t < kRows; ++t) store_output(call, sums[t][v], first_row + t, vectors.first + v);
    }
}

template <int kRows, int kLeast, typename Source, int kVectors>
void tile_of(size_t n_rows, const MatmulCall& call, const Vectors<Source, kVectors>& vectors,
             size_t first_row, Ahead ahead) {
    if constexpr (kRows >= kLeast) {
        if (n_rows == kRows) return tile<Source, kRows, kVectors>(call, vectors, first_row, ahead);
        tile_of<kRows - 1, kLeast>(n_rows, call, vectors, first_row, ahead);
    }
}

// The rows [first, end) of x in as few tiles of up to kMost rows as hold them, of nearly equal size: 8 rows
// cost two tiles of 4, not 6 and 2. None has less than kLeast.
template <int kMost, int kLeast, typename Source, int kVectors>
void rows_by_tiles(const MatmulCall& call, size_t first, size_t end, const Vectors<Source, kVectors>& vectors,
                   Ahead ahead) {
    for (size_t n_tiles = (end - first + kMost - 1) / kMost; n_tiles > 0; --n_tiles) {
        const size_t n = (end - first + n_tiles - 1) / n_tiles;
        tile_of<kMost, kLeast>(n, call, vectors, first, ahead);
        ahead.next = nullptr;  // asked for once
        first += n;
    }
}

template <PackedKind kKind, int kVectors>
Vectors<UnpackedRows<kKind>, kVectors> unpack_vectors(const MatmulCall& call,
                                                      const Vectors<PackedRows<kKind>, kVectors>& packed) {
    Vectors<UnpackedRows<kKind>, kVectors> unpacked;
    unpacked.first = packed.first;
    unpacked.end = packed.end;
    for (int v = 0; v < kVectors; ++v) {
        std::byte* out = call.scratch + v * call.layout.n_blocks * UnpackedRows<kKind>::kBlockBytes;
        unpack(packed.w[v], call.layout.n_blocks, out);
        unpacked.w[v].data = out;
    }
    return unpacked;
}

// Every panel of the call with the rows [first, end) of x, by tiles of up to kMost rows and kVectors vectors
// of output rows.
template <PackedKind kKind, int kVectors, int kMost>
void all_panels(const MatmulCall& call, size_t first, size_t end) {
    constexpr size_t kVectorsAPanel = kPanelRows / kLanes;
    const size_t end_vector = (size_t{call.first_panel} + call.n_panels) * kVectorsAPanel;
    const size_t tile_bytes = call.layout.panel_bytes * kVectors / kVectorsAPanel;
    const size_t lines_a_block = (tile_bytes / 64 + call.layout.n_blocks - 1) / call.layout.n_blocks;
    for (size_t vector = call.first_panel * kVectorsAPanel; vector < end_vector; vector += kVectors) {
        Ahead ahead{reinterpret_cast<const char*>(call.next), lines_a_block};
        if (vector + kVectors < end_vector) {
            ahead.next = reinterpret_cast<const char*>(call.panels) +
                         (vector + kVectors) * call.layout.panel_bytes / kVectorsAPanel;
        }
        Vectors<PackedRows<kKind>, kVectors> vectors;
        vectors.first = vector;
        vectors.end = end_vector;
        for (int v = 0; v < kVectors; ++v) {
            vectors.w[v] = PackedRows<kKind>(call, vector + v < end_vector ? vector + v : end_vector - 1);
        }
        if constexpr (kMost > 1 && !Traits<kKind>::kEightBits) {
            if (call.scratch != nullptr && end - first >= Dot::kUnpackRows) {
                rows_by_tiles<kMost, kMost - 1>(call, first, end, unpack_vectors(call, vectors), ahead);
                continue;
            }
        }
        rows_by_tiles<kMost, 1>(call, first, end, vectors, ahead);
    }
}

// Rows of a chunk that make up for unpacking weights again for the next one, even where they outgrow L2.
constexpr size_t kLeastChunkRows = 128;

template <PackedKind kKind>
void matmul_blocks(const MatmulCall& call) {
    constexpr size_t kMost = Traits<kKind>::kGroups == 2 ? Dot::kTwoGroupRows : Dot::kTileRows;
    // From here on tiles of nearly equal size have kMost or kMost - 1 rows.
    static_assert(Dot::kUnpackRows >= (kMost - 1) * (kMost - 2));
    // One row: the panels as one stream. q4_1 of 146 MB, Zen 5, one thread, 30 November 2026, machine shared
    // with others: 79 to 87 % of the read bandwidth against 72 to 77 % with two panels side by side; under
    // heavier load 70 %.
    if (call.n_rows == 1)
        return all_panels<kKind, Dot::kLoneVectors, 1>(call, call.first_row, size_t{call.first_row} + 1);
    if constexpr (Dot::kFewRows > 0) {
        if (call.n_rows > kMost && call.n_rows <= Dot::kFewRows)
            return all_panels<kKind, 1, Dot::kFewRows>(call, call.first_row,
                                                       size_t{call.first_row} + call.n_rows);
    }
    // Chunks of rows of x that stay in L2 with the panels, nearly equal and in whole tiles.
    const size_t end_row = size_t{call.first_row} + call.n_rows;
    const size_t fitting = kChunkBytes / call.x_layout.row_bytes;
    const size_t most_rows = fitting < kLeastChunkRows ? kLeastChunkRows : fitting;
    const size_t n_chunks = (call.n_rows + most_rows - 1) / most_rows;
    const size_t step_rows = ((call.n_rows + n_chunks - 1) / n_chunks + kMost - 1) / kMost * kMost;
    for (size_t first = call.first_row; first < end_row; first += step_rows) {
        all_panels<kKind, Dot::kTileVectors, kMost>(
            call, first, first + step_rows < end_row ? first + step_rows : end_row);
    }
}

}  // namespace

void set_block_matmul(KernelTable& table) {
    table.matmul[static_cast<size_t>(PackedKind::q4_0)] = matmul_blocks<PackedKind::q4_0>;
    table.matmul[static_cast<size_t>(PackedKind::q4_1)] = matmul_blocks<PackedKind::q4_1>;
    table.matmul[static_cast<size_t>(PackedKind::q5_0)] = matmul_blocks<PackedKind::q5_0>;
    table.matmul[static_cast<size_t>(PackedKind::q5_1)] = matmul_blocks<PackedKind::q5_1>;
    table.matmul[static_cast<size_t>(PackedKind::q8_0)] = matmul_blocks<PackedKind::q8_0>;
    table.matmul[static_cast<size_t>(PackedKind::q4_k)] = matmul_blocks<PackedKind::q4_k>;
    table.matmul[static_cast<size_t>(PackedKind::q5_k)] = matmul_blocks<PackedKind::q5_k>;
    table.matmul[static_cast<size_t>(PackedKind::q6_k)] = matmul_blocks<PackedKind::q6_k>;
}
