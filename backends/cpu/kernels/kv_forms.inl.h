// Keys and values of a tile in each form they are stored in: reading them as floats, fetching the next tile's
// ahead, and a whole q8_0 tile made float32 for many queries. Included inside an ISA's namespace by
// attention.inl.h, after wide.inl.h.
//
// A value has one float whatever path reads it: float16 converts exactly, and so does an int8 times its
// float16 scale (8 + 11 bits), so a widened tile gives the bits of the stored one.

namespace {

constexpr size_t element_bytes(KvForm form) {
    return form == KvForm::q8_0 ? 1 : form == KvForm::f16 ? 2 : 4;
}

template <KvForm kForm>
inline __attribute__((always_inline)) Wide load_elements(const std::byte* p) {
    if constexpr (kForm == KvForm::f16) return wide_load_half(reinterpret_cast<const uint16_t*>(p));
    if constexpr (kForm == KvForm::q8_0) return each([&](int i) { return load_i8(p + i * kLanes); });
    if constexpr (kForm == KvForm::f32) return wide_load(reinterpret_cast<const float*>(p));
}

// The lines of the next tile, a few at each step of the loops over this one: without it one query group reads
// keys and values from memory at a third of a plain read's rate, since runs of a page are too short for the
// processor's own prefetching (12 of 36 GB/s on one Zen 5 core, 2026-11).
struct Ahead {
    const KvRange *range = nullptr, *ranges_end = nullptr;
    const std::byte *at = nullptr, *end = nullptr;

    explicit Ahead(const AttentionTile& tile) : range(tile.ahead), ranges_end(tile.ahead + tile.n_ahead) {}
    template <int kLines>
    inline __attribute__((always_inline)) void fetch() {
#pragma GCC unroll 8
        for (int i = 0; i < kLines; ++i) {
            if (at == end) {
                if (range == ranges_end) return;
                at = range->first;
                end = at + range->n_lines * kLineBytes;
                ++range;
            }
            __builtin_prefetch(at);
            at += kLineBytes;
        }
    }
    static constexpr size_t kLineBytes = 64;
};

// Lines to fetch at a step that reads this many vectors: what it reads itself.
template <KvForm kForm, int kVectors>
constexpr int lines_a_step() {
    constexpr size_t lines = kVectors * kRowLanes * element_bytes(kForm) / Ahead::kLineBytes;
    return lines > 0 ? static_cast<int>(lines) : 1;
}

// Keys of a few vectors of positions, dimension after dimension.
template <KvForm kForm, int kVectors>
struct KeyReader {
    const std::byte* at[kVectors];
    size_t step_bytes[kVectors];
    const uint16_t* scales[kVectors];
    Wide scale[kVectors];

    inline __attribute__((always_inline)) KeyReader(const AttentionTile& tile, int first_vector) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
            at[v] = tile.keys[first_vector + v];
            step_bytes[v] = tile.key_stride[first_vector + v] * element_bytes(kForm);
            scales[v] = tile.key_scales[first_vector + v];
        }
    }
    // Before the first dimension of each kKvBlock.
    inline __attribute__((always_inline)) void begin_block() {
        if constexpr (kForm == KvForm::q8_0) {
#pragma GCC unroll 16
            for (int v = 0; v < kVectors; ++v) {
                scale[v] = wide_load_half(scales[v]);
                scales[v] += step_bytes[v];
            }
        }
    }
    inline __attribute__((always_inline)) Wide next(int v) {
        const Wide key = load_elements<kForm>(at[v]);
        at[v] += step_bytes[v];
        if constexpr (kForm == KvForm::q8_0) return key * scale[v];
        return key;
    }
};

// Floats of the factors of all positions of a tile: q8_0's scales of values, [kTilePositions][blocks].
inline void widen_value_scales(const AttentionTile& tile, float* out) {
    const size_t n_blocks = tile.value_stride / kKvBlock;
    for (uint32_t block = tile.first / kRowLanes; block * kRowLanes < tile.end; ++block) {
        for (size_t i = 0; i < n_blocks; ++i) {
            wide_store(out + (block * n_blocks + i) * kRowLanes,
                       wide_load_half(tile.value_scales[block] + i * kRowLanes));
        }
    }
}

// A q8_0 tile with float32 keys and values in its scratch.
inline AttentionTile widened(const AttentionTile& tile) {
    AttentionTile wide = tile;
    wide.form = KvForm::f32;
    float *keys = tile.widened, *values = keys + size_t{tile.key_dim} * kTilePositions;
    float* factors = values + kTilePositions * tile.value_stride;
    widen_value_scales(tile, factors);
    const size_t block_values = kRowLanes * tile.value_stride;
    for (uint32_t block = tile.first / kRowLanes; block * kRowLanes < tile.end; ++block) {
        KeyReader<KvForm::q8_0, 1> reader(tile, static_cast<int>(block));
        float* key = keys + block * kRowLanes;
        for (uint32_t d = 0; d < tile.key_dim; d += kKvBlock) {
            reader.begin_block();
            for (uint32_t i = 0; i < kKvBlock; ++i, key += kTilePositions) wide_store(key, reader.next(0));
        }
        float* out = values + block * block_values;
        const float* factor = factors + block * block_values / kKvBlock;
        for (size_t i = 0; i < block_values; i += kRowLanes) {
            wide_store(out + i, load_elements<KvForm::q8_0>(tile.values[block] + i) *
                                    wide_splat(factor[i / kKvBlock]));
        }
        wide.keys[block] = reinterpret_cast<const std::byte*>(keys + block * kRowLanes);
        wide.key_stride[block] = kTilePositions;
        wide.values[block] = reinterpret_cast<const std::byte*>(out);
    }
    return wide;
}

}  // namespace
