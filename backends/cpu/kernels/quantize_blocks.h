// Activations to int8 with a scale per 32 values, for every ISA but scalar. Included inside an ISA's
// namespace after its vec_<isa>.h and after these over a block of 32 floats: largest_bits(x) and
// quantize_block(x, factor, values, sums). The same operations, in the same order, as quantize_scalar.cpp:
// the bits are equal on every ISA.

namespace {

void quantize_row(const float* x, const QuantizedLayout& layout, std::byte* out) {
    constexpr uint32_t kInfinityBits = 0x7f800000u;
    constexpr uint32_t kTinyBits = 0x0d800000u;  // 2^-100: see quantize_scalar.cpp
    auto* values = reinterpret_cast<int8_t*>(out);
    auto* scales = reinterpret_cast<float*>(out + layout.scales_offset);
    auto* scaled_sums = reinterpret_cast<float*>(out + layout.scaled_sums_offset);
    auto* minus_sums = reinterpret_cast<int32_t*>(out + layout.minus_sums_offset);
    auto* minus_half_sums = reinterpret_cast<int32_t*>(out + layout.minus_half_sums_offset);
    for (size_t b = 0; b < layout.n_blocks; ++b, x += kBlockValues, values += kBlockValues) {
        const uint32_t bits = largest_bits(x);
        const bool usable = bits >= kTinyBits && bits < kInfinityBits;
        int32_t sums[2] = {0, 0};
        float scale = 0.0f;
        if (usable) {
            const float largest = __builtin_bit_cast(float, bits);
            quantize_block(x, 127.0f / largest, values, sums);
            scale = largest / 127.0f;
        } else {
            store_zeros(values);
            if (bits >= kInfinityBits) scale = __builtin_nanf("");
        }
        scales[b] = scale;
        scaled_sums[b] = scale * static_cast<float>(sums[0] + sums[1]);
        minus_sums[b] = -(sums[0] + sums[1]);
        minus_half_sums[2 * b] = -sums[0];
        minus_half_sums[2 * b + 1] = -sums[1];
    }
}

}  // namespace

void set_quantize(KernelTable& table) {
    table.quantize_row = quantize_row;
}
