// Products of packed block weights, written once for every ISA but scalar. Included inside an ISA's namespace
// after its vec_<isa>.h, store_output.h and a Dot type:
//
//   struct Dot {  // how four products a lane are added to int32 sums
//       // q8_0 weights are handed over as signed bytes, else as unsigned ones with an offset
//       static constexpr bool kSignedWeights;
//       // rows of x, and vectors of output rows, that one tile's registers hold
//       static constexpr int kTileRows, kTileVectors;
//       static constexpr int kLoneVectors;  // vectors of output rows of a tile of one row of x
//       // Adds to sum, maybe by way of 16-bit sums; kNth counts the steps of a group from 0.
//       using Pairs;
//       template <int kBits, int kNth> static void step(VecI& sum, Pairs& pairs, VecI weights, VecI x);
//       // true: several rows of x go through add_group instead, kSteps steps from kFirst at once; load<i>(v)
//       // gives what step i of vector v is handed, x[t] is where values of the block begin.
//       static constexpr bool kMatrix;
//       template <int kFirst, int kSteps> static void add_group(load, x, VecI (&dots)[rows][vectors]);
//   };
//
// Every output is one chain: sum = fma(scale * float(dot), x_scale, sum), then (kinds with mins) sum =
// fma(min, x_scaled_sum, sum), block after block. Tiles differ in how many chains run side by side, never in
// a chain, so a row's bits don't depend on its batch.

namespace {

// What a kind's weights look like. kBits: width of the unsigned integers; kOffset: what to subtract, as a
// power of two.
template <PackedKind kKind>
struct Traits {
    static constexpr bool kEightBits = kKind == PackedKind::q8_0;
    static constexpr bool kFifthBit =
        kKind == PackedKind::q5_0 || kKind == PackedKind::q5_1 || kKind == PackedKind::q5_k;
    static constexpr bool kSixBits = kKind == PackedKind::q6_k;
    static constexpr int kBits = kEightBits ? 8 : kSixBits ? 6 : kFifthBit ? 5 : 4;
    static constexpr bool kSuperMins = kKind == PackedKind::q4_k || kKind == PackedKind::q5_k;
    static constexpr bool kMins = kKind == PackedKind::q4_1 || kKind == PackedKind::q5_1 || kSuperMins;
    static constexpr bool kOffset = !kMins;
    static constexpr int kGroups = kSixBits ? 2 : 1;  // scales a block
    static constexpr size_t kQuantBytes = kEightBits ? 512 : 256;
    static constexpr size_t kHighBytes = kSixBits ? 128 : 64;
    static constexpr size_t kScaleBytes = kSuperMins ? 16 : 32;  // of a block's 16 rows; mins alike
    static constexpr size_t kSuperBytes = kSixBits ? 32 : 64;
};

// One vector's lanes of a panel: a pointer into each section at the current block.
struct VectorOfRows {
    const uint8_t* quants;
    const uint8_t* high;
    const uint8_t* scales;
    const uint8_t* mins;
    const uint8_t* supers;
};

template <PackedKind kKind>
inline VectorOfRows vector_of_rows(const MatmulCall& call, size_t vector) {
    constexpr size_t kVectorsAPanel = kPanelRows / kLanes;
    constexpr bool kHalves =
        Traits<kKind>::kScaleBytes == 32 && !Traits<kKind>::kSixBits;  // scales are f16, else bytes
    const size_t lane = vector % kVectorsAPanel * kLanes;
    const auto* panel =
        reinterpret_cast<const uint8_t*>(call.panels) + vector / kVectorsAPanel * call.layout.panel_bytes;
    const size_t scale_lane = lane * (kHalves ? 2 : 1);
    return {panel + 4 * lane, panel + call.layout.high_offset + 4 * lane,
            panel + call.layout.scales_offset + scale_lane, panel + call.layout.mins_offset + scale_lane,
            panel + call.layout.supers_offset + 2 * lane};
}

// Four unsigned integers a lane: values 4 i to 4 i + 3 of each row.
template <PackedKind kKind, int i>
inline VecI load_weights(const VectorOfRows& rows, size_t block) {
    using T = Traits<kKind>;
    if constexpr (T::kEightBits) {
        const VecI w = load_i(rows.quants + T::kQuantBytes * block + 64 * i);
        return Dot::kSignedWeights ? xor_i(w, splat_bytes(static_cast<char>(0x80))) : w;
    } else {
        const VecI pairs = load_i(rows.quants + T::kQuantBytes * block + 64 * (i % 4));
        const VecI nibbles = i < 4 ? pairs : shift_right<4>(pairs);
        const VecI low_four = splat_bytes(0x0f);
        if constexpr (T::kFifthBit) {  // bit i of each byte goes to bit 4
            const VecI bits = load_i(rows.high + T::kHighBytes * block);
            const VecI moved =
                i < 4 ? shift_left<(i < 4 ? 4 - i : 0)>(bits) : shift_right<(i > 4 ? i - 4 : 0)>(bits);
            return blend_bits(low_four, nibbles, and_i(moved, splat_bytes(0x10)));
        } else if constexpr (T::kSixBits) {  // bits 2 (i % 4) and the next go to bits 4 and 5
            constexpr int kShift = 4 - 2 * (i % 4);
            const VecI bits = load_i(rows.high + T::kHighBytes * block + 64 * (i / 4));
            const VecI moved = kShift >= 0 ? shift_left<(kShift > 0 ? kShift : 0)>(bits)
                                           : shift_right<(kShift < 0 ? -kShift : 0)>(bits);
            return blend_bits(low_four, nibbles, and_i(moved, splat_bytes(0x30)));
        } else {
            return and_i(nibbles, low_four);
        }
    }
}

template <PackedKind kKind>
inline VecF load_scales(const VectorOfRows& rows, size_t block, int group) {
    using T = Traits<kKind>;
    const uint8_t* scales = rows.scales + T::kScaleBytes * block;
    const uint8_t* super = rows.supers + T::kSuperBytes * (block / kSuperBlocks);
    if constexpr (T::kSuperMins)
        return mul(load_f16(super), load_u8(scales));
    else if constexpr (T::kSixBits)
        return mul(load_f16(super), load_i8(scales + 16 * group));
    else
        return load_f16(scales);
}

// What a block's sum of x is multiplied by. q4_k and q5_k subtract it.
template <PackedKind kKind>
inline VecF load_mins(const VectorOfRows& rows, size_t block) {
    using T = Traits<kKind>;
    const uint8_t* mins = rows.mins + T::kScaleBytes * block;
    if constexpr (T::kSuperMins) {
        return mul(load_f16(rows.supers + T::kSuperBytes * (block / kSuperBlocks) + 32), load_u8(mins));
    } else {
        return load_f16(mins);
    }
}

// Values 4 i to 4 i + 3 of the block; kNth counts the steps of the group.
template <PackedKind kKind, int i, int kNth, int kRows, int kVectors>
inline __attribute__((always_inline)) void step(const VectorOfRows (&w)[kVectors],
                                                const std::byte* const (&x)[kRows], size_t block,
                                                VecI (&dots)[kRows][kVectors],
                                                Dot::Pairs (&pairs)[kRows][kVectors]) {
    VecI weights[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) weights[v] = load_weights<kKind, i>(w[v], block);
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
        const VecI four = splat_i(*reinterpret_cast<const int*>(x[t] + kBlockValues * block + 4 * i));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
            Dot::step<Traits<kKind>::kBits, kNth>(dots[t][v], pairs[t][v], weights[v], four);
        }
    }
}

// The integer sums of one group of a block, offset undone, and what they add to the chains.
template <PackedKind kKind, int kGroup, int kRows, int kVectors, typename D = Dot>
inline __attribute__((always_inline)) void add_group(const MatmulCall& call,
                                                     const VectorOfRows (&w)[kVectors],
                                                     const std::byte* const (&x)[kRows], size_t block,
                                                     VecF (&sums)[kRows][kVectors]) {
    using T = Traits<kKind>;
    VecI dots[kRows][kVectors];
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
        const auto load = [&]<int i>(int v) { return load_weights<kKind, i>(w[v], block); };
        const std::byte* values[kRows];
        for (int t = 0; t < kRows; ++t) values[t] = x[t] + kBlockValues * block;
        D::template add_group<T::kSixBits ? 4 * kGroup : 0, T::kSixBits ? 4 : 8>(load, values, dots);
    } else if constexpr (T::kSixBits) {
        step<kKind, 4 * kGroup, 0>(w, x, block, dots, pairs);
        step<kKind, 4 * kGroup + 1, 1>(w, x, block, dots, pairs);
        step<kKind, 4 * kGroup + 2, 2>(w, x, block, dots, pairs);
        step<kKind, 4 * kGroup + 3, 3>(w, x, block, dots, pairs);
    } else {  // both nibbles of a vector one after the other
        step<kKind, 0, 0>(w, x, block, dots, pairs);
        step<kKind, 4, 1>(w, x, block, dots, pairs);
        step<kKind, 1, 2>(w, x, block, dots, pairs);
        step<kKind, 5, 3>(w, x, block, dots, pairs);
        step<kKind, 2, 4>(w, x, block, dots, pairs);
        step<kKind, 6, 5>(w, x, block, dots, pairs);
        step<kKind, 3, 6>(w, x, block, dots, pairs);
        step<kKind, 7, 7>(w, x, block, dots, pairs);
    }
    VecF scales[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) scales[v] = load_scales<kKind>(w[v], block, kGroup);
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
        const VecF x_scale =
            splat(*reinterpret_cast<const float*>(x[t] + call.x_layout.scales_offset + 4 * block));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
            sums[t][v] = fma(mul(scales[v], to_float(dots[t][v])), x_scale, sums[t][v]);
    }
}

template <PackedKind kKind, int kRows, int kVectors>
inline __attribute__((always_inline)) void add_mins(const MatmulCall& call, const VectorOfRows (&w)[kVectors],
                                                    const std::byte* const (&x)[kRows], size_t block,
                                                    VecF (&sums)[kRows][kVectors]) {
    VecF mins[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) mins[v] = load_mins<kKind>(w[v], block);
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
        const VecF x_sum =
            splat(*reinterpret_cast<const float*>(x[t] + call.x_layout.scaled_sums_offset + 4 * block));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
            sums[t][v] = Traits<kKind>::kSuperMins ? fma_minus(mins[v], x_sum, sums[t][v])
                                                   : fma(mins[v], x_sum, sums[t][v]);
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

// kRows rows of x with kVectors vectors of output rows, all k. A vector past the end repeats the last one and
// isn't written.
template <PackedKind kKind, int kRows, int kVectors>
void tile(const MatmulCall& call, size_t first_row, size_t first_vector, size_t end_vector, Ahead ahead) {
    VectorOfRows w[kVectors];
    const std::byte* x[kRows];
    VecF sums[kRows][kVectors];
    for (int v = 0; v < kVectors; ++v) {
        const size_t vector = first_vector + v;
        w[v] = vector_of_rows<kKind>(call, vector < end_vector ? vector : end_vector - 1);
    }
    for (int t = 0; t < kRows; ++t) x[t] = call.x + (first_row + t) * call.x_row_bytes;
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[t][v] = zero_f();
    }
    for (size_t block = 0; block < call.layout.n_blocks; ++block) {
        ask(ahead);
        add_group<kKind, 0>(call, w, x, block, sums);
        if constexpr (Traits<kKind>::kGroups == 2) add_group<kKind, 1>(call, w, x, block, sums);
        if constexpr (Traits<kKind>::kMins) add_mins<kKind>(call, w, x, block, sums);
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
        if (first_vector + v >= end_vector) break;
#pragma GCC unroll 16
        for (int t = 0; t < kRows; ++t) store_output(call, sums[t][v], first_row + t, first_vector + v);
    }
}

template <PackedKind kKind, int kVectors, int kRows>
void tile_of(size_t n_rows, const MatmulCall& call, size_t first_row, size_t first_vector, size_t end_vector,
             Ahead ahead) {
    if constexpr (kRows > 0) {
        if (n_rows == kRows)
            return tile<kKind, kRows, kVectors>(call, first_row, first_vector, end_vector, ahead);
        tile_of<kKind, kVectors, kRows - 1>(n_rows, call, first_row, first_vector, end_vector, ahead);
    }
}

// The rows [first, end) of x in as few tiles as hold them, of nearly equal size: 8 rows cost two tiles of 4,
// not 6 and 2.
template <PackedKind kKind, int kVectors, int kMost>
void rows_by_tiles(const MatmulCall& call, size_t first, size_t end, size_t first_vector, size_t end_vector,
                   Ahead ahead) {
    for (size_t n_tiles = (end - first + kMost - 1) / kMost; n_tiles > 0; --n_tiles) {
        const size_t n = (end - first + n_tiles - 1) / n_tiles;
        tile_of<kKind, kVectors, kMost>(n, call, first, first_vector, end_vector, ahead);
        ahead.next = nullptr;  // asked for once
        first += n;
    }
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
        Ahead ahead{nullptr, lines_a_block};
        if (vector + kVectors < end_vector) {
            ahead.next = reinterpret_cast<const char*>(call.panels) +
                         (vector + kVectors) * call.layout.panel_bytes / kVectorsAPanel;
        }
        rows_by_tiles<kKind, kVectors, kMost>(call, first, end, vector, end_vector, ahead);
    }
}

template <PackedKind kKind>
void matmul_blocks(const MatmulCall& call) {
    constexpr size_t kMost = Dot::kTileRows;
    // One row: the panels as one stream. q4_1 of 146 MB, Zen 5, one thread, 30 November 2026, machine shared
    // with others: 79 to 87 % of the read bandwidth against 72 to 77 % with two panels side by side; under
    // heavier load 70 %.
    if (call.n_rows == 1)
        return all_panels<kKind, Dot::kLoneVectors, 1>(call, call.first_row, size_t{call.first_row} + 1);
    const size_t end_row = size_t{call.first_row} + call.n_rows;
    const size_t chunk_rows =
        kChunkBytes / call.x_row_bytes / kMost * kMost;  // rows of x that stay in L2 with the panels
    const size_t step_rows = chunk_rows < kMost ? kMost : chunk_rows;
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
