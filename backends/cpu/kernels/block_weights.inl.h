// Where a tile reads the weights of one vector of output rows: from the packed panel, or from a copy that was
// unpacked for many rows of x. Included by matmul_blocks.h, inside an ISA's namespace, after its Dot.
//
//   template <PackedKind> struct Source {
//       template <int i> VecI weights(size_t block) const;  // four integers a lane: values 4 i to 4 i + 3
//       VecF scales(size_t block, int group) const;
//       VecF mins(size_t block) const;  // what a block's sum of x is multiplied by
//   };

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

template <PackedKind kKind>
struct PackedRows {
    using T = Traits<kKind>;
    // A pointer into each section of the panel.
    const uint8_t* quants;
    const uint8_t* high;
    const uint8_t* scale_bytes;
    const uint8_t* min_bytes;
    const uint8_t* supers;

    PackedRows() = default;
    PackedRows(const MatmulCall& call, size_t vector) {
        constexpr size_t kVectorsAPanel = kPanelRows / kLanes;
        constexpr bool kHalves = T::kScaleBytes == 32 && !T::kSixBits;  // scales are f16, else bytes
        const size_t lane = vector % kVectorsAPanel * kLanes;
        const size_t scale_lane = lane * (kHalves ? 2 : 1);
        const auto* panel =
            reinterpret_cast<const uint8_t*>(call.panels) + vector / kVectorsAPanel * call.layout.panel_bytes;
        quants = panel + 4 * lane;
        high = panel + call.layout.high_offset + 4 * lane;
        scale_bytes = panel + call.layout.scales_offset + scale_lane;
        min_bytes = panel + call.layout.mins_offset + scale_lane;
        supers = panel + call.layout.supers_offset + 2 * lane;
    }

    template <int i>
    VecI weights(size_t block) const {
        if constexpr (T::kEightBits) {
            const VecI w = load_i(quants + T::kQuantBytes * block + 64 * i);
            return Dot::kSignedWeights ? xor_i(w, splat_bytes(static_cast<char>(0x80))) : w;
        } else {
            const VecI pairs = load_i(quants + T::kQuantBytes * block + 64 * (i % 4));
            const VecI nibbles = i < 4 ? pairs : shift_right<4>(pairs);
            const VecI low_four = splat_bytes(0x0f);
            if constexpr (T::kFifthBit) {  // bit i of each byte goes to bit 4
                const VecI bits = load_i(high + T::kHighBytes * block);
                const VecI moved =
                    i < 4 ? shift_left<(i < 4 ? 4 - i : 0)>(bits) : shift_right<(i > 4 ? i - 4 : 0)>(bits);
                return blend_bits(low_four, nibbles, and_i(moved, splat_bytes(0x10)));
            } else if constexpr (T::kSixBits) {  // bits 2 (i % 4) and the next go to bits 4 and 5
                constexpr int kShift = 4 - 2 * (i % 4);
                const VecI bits = load_i(high + T::kHighBytes * block + 64 * (i / 4));
                const VecI moved = kShift >= 0 ? shift_left<(kShift > 0 ? kShift : 0)>(bits)
                                               : shift_right<(kShift < 0 ? -kShift : 0)>(bits);
                return blend_bits(low_four, nibbles, and_i(moved, splat_bytes(0x30)));
            } else {
                return and_i(nibbles, low_four);
            }
        }
    }

    VecF scales(size_t block, int group) const {
        const uint8_t* own = scale_bytes + T::kScaleBytes * block;
        const uint8_t* super = supers + T::kSuperBytes * (block / kSuperBlocks);
        if constexpr (T::kSuperMins)
            return mul(load_f16(super), load_u8(own));
        else if constexpr (T::kSixBits)
            return mul(load_f16(super), load_i8(own + 16 * group));
        else
            return load_f16(own);
    }

    VecF mins(size_t block) const {
        const uint8_t* own = min_bytes + T::kScaleBytes * block;
        if constexpr (T::kSuperMins) {
            return mul(load_f16(supers + T::kSuperBytes * (block / kSuperBlocks) + 32), load_u8(own));
        } else {
            return load_f16(own);
        }
    }
};

// Blocks one after the other: eight vectors of bytes, then one of scales for each group, then the mins.
template <PackedKind kKind>
struct UnpackedRows {
    using T = Traits<kKind>;
    static constexpr size_t kVectorBytes = 4 * kLanes;
    static constexpr size_t kBlockBytes = kVectorBytes * (8 + T::kGroups + (T::kMins ? 1 : 0));
    const std::byte* data;

    template <int i>
    VecI weights(size_t block) const {
        return load_i(data + kBlockBytes * block + kVectorBytes * i);
    }
    VecF scales(size_t block, int group) const {
        return load(reinterpret_cast<const float*>(data + kBlockBytes * block + kVectorBytes * 8) +
                    kLanes * group);
    }
    VecF mins(size_t block) const { return scales(block, T::kGroups); }
};

template <PackedKind kKind>
void unpack(const PackedRows<kKind>& rows, size_t n_blocks, std::byte* out) {
    using T = Traits<kKind>;
    for (size_t block = 0; block < n_blocks; ++block) {
        const auto put = [&]<int i>() { store_i(out + 4 * kLanes * i, rows.template weights<i>(block)); };
        put.template operator()<0>();
        put.template operator()<4>();
        put.template operator()<1>();
        put.template operator()<5>();
        put.template operator()<2>();
        put.template operator()<6>();
        put.template operator()<3>();
        put.template operator()<7>();
        auto* floats = reinterpret_cast<float*>(out + 4 * kLanes * 8);
        store(floats, rows.scales(block, 0));
        if constexpr (T::kGroups == 2) store(floats + kLanes, rows.scales(block, 1));
        if constexpr (T::kMins) store(floats + kLanes * T::kGroups, rows.mins(block));
        out += UnpackedRows<kKind>::kBlockBytes;
    }
}

}  // namespace
