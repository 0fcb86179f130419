// Fills the table of kernels level by level, and holds each kernel against scalar on a small case before
// anything trusts it.
#include "cpu/kernels/kernel_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "cpu/kernels/pack_panels.h"
#include "cpu/kernels/packed_matrix.h"

namespace takt::cpu {
namespace {

constexpr std::array<DType, kPackedKinds> kDTypes = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                                                     DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k,
                                                     DType::f32,  DType::f16,  DType::bf16};

struct LevelKernels {
    IsaLevel level;
    void (*fill)(KernelTable& table);
};
constexpr LevelKernels kLevelKernels[] = {
    {IsaLevel::scalar, fill_scalar},
#if defined(__x86_64__) || defined(_M_X64)
    {IsaLevel::avx2, fill_avx2},     {IsaLevel::avx_vnni, fill_avx_vnni},
    {IsaLevel::avx512, fill_avx512}, {IsaLevel::avx512_vnni, fill_avx512_vnni},
#elif defined(__aarch64__)
    {IsaLevel::neon, fill_neon},
    {IsaLevel::neon_dotprod, fill_neon_dotprod},
    {IsaLevel::neon_i8mm, fill_neon_i8mm},
#endif
};

// The case: 35 output rows (two panels and a part), 256 columns, 8 rows of x (a full tile and a part, of
// every ISA).
constexpr uint32_t kRows = 35, kCols = 256, kInputs = 8, kPanels = 3;
constexpr uint32_t kManyInputs = 53;  // more than any ISA's kUnpackRows, and no whole tiles

// A fixed sequence of bits, the same everywhere.
class Numbers {
public:
    uint32_t next() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<uint32_t>(state_ >> 33);
    }
    float next_float() { return static_cast<float>(static_cast<int>(next() % 2001) - 1000) / 256.0f; }

private:
    uint64_t state_ = 42;
};

void put16(std::vector<std::byte>& bytes, size_t at, uint16_t value) {
    std::memcpy(bytes.data() + at, &value, 2);
}

// Source bytes with finite numbers: random bits, and small f16 or bf16 exponents where the type has floats.
std::vector<std::byte> make_source(DType dtype, Numbers& numbers) {
    const size_t block_bytes = dtype_info(dtype).block_bytes;
    std::vector<std::byte> bytes(kRows * row_bytes(dtype, kCols));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(numbers.next());
    for (size_t at = 0; at < bytes.size(); at += block_bytes) {
        const auto small_half = [&] { return static_cast<uint16_t>((numbers.next() & 0x83ffu) | 0x2c00u); };
        if (dtype == DType::f32) {
            const float value = numbers.next_float();
            std::memcpy(bytes.data() + at, &value, 4);
        } else if (dtype == DType::bf16) {
            put16(bytes, at, static_cast<uint16_t>((numbers.next() & 0x807fu) | 0x3f00u));
        } else if (dtype == DType::q6_k) {
            put16(bytes, at + 208, small_half());
        } else {
            put16(bytes, at, small_half());
            if (dtype != DType::f16 && dtype != DType::q4_0 && dtype != DType::q5_0 && dtype != DType::q8_0)
                put16(bytes, at + 2, small_half());
        }
    }
    return bytes;
}

struct Case {
    std::vector<std::byte> panels, quantized, scratch;
    std::vector<float> x;
    MatmulCall call;
};

void fill_case(Case& test, DType dtype, const KernelTable& quantizer) {
    Numbers numbers;
    std::vector<std::byte> source = make_source(dtype, numbers);
    const PanelLayout layout = panel_layout(dtype, kRows, kCols);
    test.panels.assign(kPanels * layout.panel_bytes, std::byte{0});
    const size_t stride = row_bytes(dtype, kCols);
    source.resize(kPanels * kPanelRows * stride);  // zeros behind the last row
    for (uint32_t panel = 0; panel < kPanels; ++panel) {
        const uint32_t first = panel * kPanelRows;
        pack_panel(dtype, layout, source.data() + first * stride, stride, std::min(kPanelRows, kRows - first),
                   test.panels.data() + panel * layout.panel_bytes);
    }
    test.x.resize(kInputs * kCols);
    for (float& value : test.x) value = numbers.next_float();
    const QuantizedLayout quantized = quantized_layout(kCols);
    test.quantized.assign(kInputs * quantized.row_bytes, std::byte{0});
    for (uint32_t row = 0; row < kInputs; ++row) {
        quantizer.quantize_row(test.x.data() + row * kCols, quantized,
                               test.quantized.data() + row * quantized.row_bytes);
    }
    test.call.panels = test.panels.data();
    test.call.layout = layout;
    const bool dense = layout.n_blocks == 0;
    test.call.x = dense ? reinterpret_cast<const std::byte*>(test.x.data()) : test.quantized.data();
    test.call.x_row_bytes = dense ? kCols * sizeof(float) : quantized.row_bytes;
    test.call.x_layout = quantized;
    test.call.n_rows = kInputs;
    test.call.n_panels = kPanels;
    test.scratch.resize(layout.n_blocks * kUnpackedBlockBytes + 63);
    test.call.scratch =
        test.scratch.data() + (64 - reinterpret_cast<uintptr_t>(test.scratch.data()) % 64) % 64;
    test.call.out_stride = kRows;
}

bool same_matmul(const KernelTable& table, const KernelTable& scalar, size_t kind) {
    Case test;
    fill_case(test, kDTypes[kind], scalar);
    std::vector<float> expected(kInputs * kRows), got(kInputs * kRows, NAN);
    test.call.out = expected.data();
    scalar.matmul[kind](test.call);
    test.call.out = got.data();
    table.matmul[kind](test.call);
    if (std::memcmp(expected.data(), got.data(), expected.size() * sizeof(float)) != 0) return false;
    // One row alone, by another tile.
    test.call.first_row = 3;
    test.call.n_rows = 1;
    std::vector<float> alone(kInputs * kRows, NAN);
    test.call.out = alone.data();
    table.matmul[kind](test.call);
    if (std::memcmp(alone.data() + 3 * kRows, got.data() + 3 * kRows, kRows * sizeof(float)) != 0)
        return false;
    // So many rows that weights are unpacked for them: the first, again and again.
    std::vector<float> many(kManyInputs * kRows, NAN);
    test.call.first_row = 0;
    test.call.n_rows = kManyInputs;
    test.call.x_row_bytes = 0;
    test.call.out = many.data();
    table.matmul[kind](test.call);
    for (size_t row = 0; row < kManyInputs; ++row) {
        if (std::memcmp(many.data() + row * kRows, got.data(), kRows * sizeof(float)) != 0) return false;
    }
    return true;
}

bool same_quantizer(const KernelTable& table, const KernelTable& scalar) {
    Case expected, got;
    fill_case(expected, DType::q4_0, scalar);
    fill_case(got, DType::q4_0, table);
    return expected.quantized == got.quantized;
}

std::string_view kind_name(size_t kind) {
    return dtype_info(kDTypes[kind]).name;
}

}  // namespace

KernelTable make_kernel_table(IsaLevel level, std::span<const IsaLevel> levels) {
    KernelTable table{};
    for (const LevelKernels& own : kLevelKernels) {  // from slow to fast
        const bool there =
            own.level == IsaLevel::scalar || std::ranges::find(levels, own.level) != levels.end();
        if (own.level <= level && there) own.fill(table);
    }
    return table;
}

KernelTable make_kernel_table(IsaLevel level) {
    return make_kernel_table(level, available_isa_levels());
}

Status self_test(const KernelTable& table) {
    const KernelTable scalar = make_kernel_table(IsaLevel::scalar);
    if (!same_quantizer(table, scalar))
        return Status(StatusCode::internal, "Kernel quantize_row differs from scalar.");
    for (size_t kind = 0; kind < kPackedKinds; ++kind) {
        if (!same_matmul(table, scalar, kind)) {
            return Status(StatusCode::internal,
                          fmt::format("Kernel matmul {} differs from scalar.", kind_name(kind)));
        }
    }
    return {};
}

KernelTable make_checked_kernel_table(IsaLevel level, std::vector<std::string>& replaced) {
    const KernelTable scalar = make_kernel_table(IsaLevel::scalar);
    KernelTable table = make_kernel_table(level);
    std::array<bool, kPackedKinds> passed{};  // the product in the table now
    for (const IsaLevel lower : available_isa_levels()) {
        if (lower > level) continue;
        const KernelTable sibling = make_kernel_table(lower);
        const std::string_view name = isa_name(lower);
        if (table.quantize_row != sibling.quantize_row && !same_quantizer(table, scalar)) {
            table.quantize_row = sibling.quantize_row;
            replaced.push_back(fmt::format(
                "Kernel quantize_row failed its self-test; the one of {} takes its place.", name));
        }
        for (size_t kind = 0; kind < kPackedKinds; ++kind) {
            if (passed[kind] || table.matmul[kind] == sibling.matmul[kind]) continue;
            passed[kind] = same_matmul(table, scalar, kind);
            if (passed[kind]) continue;
            table.matmul[kind] = sibling.matmul[kind];
            replaced.push_back(
                fmt::format("Kernel matmul {} failed its self-test; the one of {} takes its place.",
                            kind_name(kind), name));
        }
    }
    return table;
}

}  // namespace takt::cpu
