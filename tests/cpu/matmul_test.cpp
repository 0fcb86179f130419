#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "block_weights.h"
#include "cpu/cpu_features.h"
#include "cpu/kernels/kernel_choice.h"
#include "cpu/kernels/packed_matrix.h"

using namespace takt;
using namespace takt::cpu;

namespace {

struct Product {
    DType dtype;
    uint32_t rows, cols, n_inputs;
    PackedMatrix matrix;
    std::vector<float> weights, x;
    AlignedBuffer scratch;
    QuantizedRows quantized;
    mutable AlignedBuffer unpacked;  // where kernels unpack weights: exactly what they may use
};

Product make_product(DType dtype, uint32_t rows, uint32_t cols, uint32_t n_inputs, ThreadPool& pool,
                     std::mt19937& random) {
    Product p{dtype, rows, cols, n_inputs, {}, {}, {}, {}, {}, {}};
    const std::vector<std::byte> blocks = test::random_blocks(dtype, rows, cols, random);
    Result<PackedMatrix> matrix = test::pack_blocks(dtype, rows, cols, blocks, pool);
    REQUIRE(matrix.ok());
    p.matrix = std::move(*matrix);
    p.weights = test::dequantize(dtype, rows, cols, blocks);
    p.x.resize(size_t{n_inputs} * cols);
    std::normal_distribution<float> normal;
    for (float& value : p.x) value = normal(random);
    Result<AlignedBuffer> scratch = AlignedBuffer::allocate(n_inputs * quantized_row_bytes(cols));
    REQUIRE(scratch.ok());
    p.scratch = std::move(*scratch);
    p.quantized = QuantizedRows(p.scratch.data(), cols);
    Result<AlignedBuffer> unpacked = AlignedBuffer::allocate(cols / kBlockValues * kUnpackedBlockBytes);
    REQUIRE(unpacked.ok());
    p.unpacked = std::move(*unpacked);
    return p;
}

void quantize_all(const KernelTable& table, Product& p) {
    if (!p.matrix.dense()) quantize_rows(table, p.x.data(), p.cols, 0, p.n_inputs, p.quantized);
}

void run(const KernelTable& table, const Product& p, uint32_t first_row, uint32_t n_rows,
         uint32_t first_panel, uint32_t n_panels, float* out, MatmulOptions options = {}) {
    options.scratch = p.unpacked.data();
    if (p.matrix.dense()) {
        matmul_dense(table, p.matrix, p.x.data(), p.cols, first_row, n_rows, first_panel, n_panels, out,
                     p.rows, options);
    } else {
        matmul(table, p.matrix, p.quantized, first_row, n_rows, first_panel, n_panels, out, p.rows, options);
    }
}

std::vector<float> run_all(const KernelTable& table, const Product& p) {
    std::vector<float> out(size_t{p.n_inputs} * p.rows, NAN);
    run(table, p, 0, p.n_inputs, 0, p.matrix.n_panels(), out.data());
    return out;
}

// The value of x that the kernels see.
double input(const Product& p, uint32_t row, uint32_t k) {
    if (p.matrix.dense()) return p.x[size_t{row} * p.cols + k];
    const std::byte* bytes = p.quantized.row(row);
    const auto* scales = reinterpret_cast<const float*>(bytes + p.quantized.layout.scales_offset);
    return static_cast<double>(reinterpret_cast<const int8_t*>(bytes)[k]) *
           static_cast<double>(scales[k / kBlockValues]);
}

struct Errors {
    double tight = 0, loose = 0;
};  // against quantized and unquantized x, relative to the sum of magnitudes

Errors errors(const Product& p, const std::vector<float>& out) {
    Errors worst;
    for (uint32_t t = 0; t < p.n_inputs; ++t) {
        for (uint32_t r = 0; r < p.rows; ++r) {
            double tight = 0, loose = 0, size = 0;
            for (uint32_t k = 0; k < p.cols; ++k) {
                const double w = p.weights[size_t{r} * p.cols + k], x = p.x[size_t{t} * p.cols + k];
                tight += w * input(p, t, k);
                loose += w * x;
                size += std::abs(w * x);
            }
            const double got = out[size_t{t} * p.rows + r];
            if (!(std::abs(got) < 1e30)) return {1e9, 1e9};
            worst.tight = std::max(worst.tight, std::abs(got - tight) / (size + 1e-9));
            worst.loose = std::max(worst.loose, std::abs(got - loose) / (size + 1e-9));
        }
    }
    return worst;
}

std::vector<uint32_t> widths(DType dtype) {
    const uint32_t block = dtype_info(dtype).block_elements;
    if (block == 1) return {1, 33, 64, 200};
    if (block == 256) return {256, 768};
    return {32, 64, 96, 288, 576};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("products of every type and ISA equal float64 products of the dequantized weights") {
    ThreadPool pool(2);
    std::mt19937 random(3);
    for (const DType dtype : test::kAllDTypes) {
        for (const uint32_t cols : widths(dtype)) {
            for (const uint32_t rows : {1u, 16u, 37u, 64u}) {
                Product p = make_product(dtype, rows, cols, 7, pool, random);
                for (const IsaLevel level : available_isa_levels()) {
                    INFO(dtype_info(dtype).name << ' ' << isa_name(level) << " rows " << rows << " cols "
                                                << cols);
                    const KernelTable table = make_kernel_table(level);
                    quantize_all(table, p);
                    const Errors e = errors(p, run_all(table, p));
                    REQUIRE(e.tight < 2e-6);
                    REQUIRE(e.loose < (p.matrix.dense() ? 2e-6 : 0.02));
                }
            }
        }
    }
}

TEST_CASE("a row's bits don't depend on its batch, on the split of panels or on the ISA") {
    ThreadPool pool(2);
    std::mt19937 random(4);
    for (const DType dtype : test::kAllDTypes) {
        const uint32_t cols = dtype_info(dtype).block_elements == 256 ? 512 : 416;
        Product p = make_product(dtype, 117, cols, 64, pool, random);
        quantize_all(make_kernel_table(IsaLevel::scalar), p);
        const std::vector<float> expected = run_all(make_kernel_table(IsaLevel::scalar), p);
        for (const IsaLevel level : available_isa_levels()) {
            const KernelTable table = make_kernel_table(level);
            quantize_all(table, p);
            for (const uint32_t batch : {1u, 2u, 3u, 5u, 7u, 16u, 64u}) {
                for (const uint32_t panels : {1u, 3u, 8u}) {
                    INFO(dtype_info(dtype).name << ' ' << isa_name(level) << " batch " << batch << " panels "
                                                << panels);
                    std::vector<float> out(expected.size(), NAN);
                    for (uint32_t row = 0; row < 64; row += batch) {
                        for (uint32_t panel = 0; panel < p.matrix.n_panels(); panel += panels) {
                            run(table, p, row, std::min(batch, 64 - row), panel,
                                std::min(panels, p.matrix.n_panels() - panel), out.data());
                        }
                    }
                    REQUIRE(same_bits(out, expected));
                }
            }
        }
    }
}

TEST_CASE("every ISA gives scalar's bits for 1 to 17 rows and a last panel of any width") {
    ThreadPool pool(1);
    std::mt19937 random(10);
    const KernelTable scalar = make_kernel_table(IsaLevel::scalar);
    for (const DType dtype : test::kAllDTypes) {
        const uint32_t cols = dtype_info(dtype).block_elements == 256 ? 256 : 64;
        for (uint32_t rows = 17; rows <= 33; ++rows) {  // 1 to 16 rows in the last panel, and one more
            Product p = make_product(dtype, rows, cols, 17, pool, random);
            quantize_all(scalar, p);
            const std::vector<float> expected = run_all(scalar, p);
            for (const IsaLevel level : available_isa_levels()) {
                const KernelTable table = make_kernel_table(level);
                for (uint32_t n = 1; n <= 17; ++n) {
                    INFO(dtype_info(dtype).name << ' ' << isa_name(level) << ", " << n << " rows, " << rows
                                                << " outputs");
                    std::vector<float> out(expected.size(), NAN);
                    run(table, p, 17 - n, n, 0, p.matrix.n_panels(), out.data());
                    const size_t skipped = size_t{17 - n} * rows;
                    REQUIRE(std::memcmp(out.data() + skipped, expected.data() + skipped,
                                        (expected.size() - skipped) * sizeof(float)) == 0);
                    REQUIRE(std::all_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(skipped),
                                        [](float x) { return std::isnan(x); }));
                }
            }
        }
    }
}

TEST_CASE("weights that are unpacked once for many rows give scalar's bits, with and without room for it") {
    ThreadPool pool(1);
    std::mt19937 random(12);
    const KernelTable scalar = make_kernel_table(IsaLevel::scalar);
    for (const DType dtype : test::kAllDTypes) {
        for (const uint32_t outputs : {16u, 45u, 64u}) {
            Product p = make_product(dtype, outputs, 512, 67, pool, random);
            quantize_all(scalar, p);
            const std::vector<float> expected = run_all(scalar, p);
            for (const IsaLevel level : available_isa_levels()) {
                const KernelTable table = make_kernel_table(level);
                for (uint32_t n = 18; n <= p.n_inputs; ++n) {
                    INFO(dtype_info(dtype).name << ' ' << isa_name(level) << ", " << n << " rows, " << outputs
                                                << " outputs");
                    std::vector<float> out(expected.size(), NAN);
                    run(table, p, 0, n, 0, p.matrix.n_panels(), out.data());
                    REQUIRE(std::memcmp(out.data(), expected.data(), n * outputs * sizeof(float)) == 0);
                }
                if (p.matrix.dense()) continue;
                std::vector<float> out(expected.size(), NAN);
                matmul(table, p.matrix, p.quantized, 0, p.n_inputs, 0, p.matrix.n_panels(), out.data(),
                       p.rows);
                REQUIRE(same_bits(out, expected));
            }
        }
    }
}

TEST_CASE("the largest sums of products that a block can hold do not overflow on any ISA") {
    ThreadPool pool(1);
    for (const DType dtype : test::kAllDTypes) {
        if (dtype_info(dtype).block_elements == 1) continue;
        for (const int fill : {0xff, 0x80, 0x7f, 0x00}) {
            std::vector<std::byte> blocks(16 * row_bytes(dtype, 256), static_cast<std::byte>(fill));
            // Scales that are numbers; what stays are weights at an end of their range.
            const size_t block_bytes = dtype_info(dtype).block_bytes;
            const uint16_t one = f32_to_f16(1.0f);
            for (size_t at = 0; at < blocks.size(); at += block_bytes) {
                std::memcpy(blocks.data() + at + (dtype == DType::q6_k ? 208 : 0), &one, 2);
                if (dtype != DType::q4_0 && dtype != DType::q5_0 && dtype != DType::q8_0 &&
                    dtype != DType::q6_k)
                    std::memcpy(blocks.data() + at + 2, &one, 2);
            }
            std::mt19937 random(11);
            Product p = make_product(dtype, 16, 256, 48, pool, random);
            Result<PackedMatrix> matrix = test::pack_blocks(dtype, 16, 256, blocks, pool);
            REQUIRE(matrix.ok());
            p.matrix = std::move(*matrix);
            for (uint32_t k = 0; k < 48 * 256; ++k) p.x[k] = k < 24 * 256 ? 1.0f : -1.0f;
            quantize_all(make_kernel_table(IsaLevel::scalar), p);
            const std::vector<float> expected = run_all(make_kernel_table(IsaLevel::scalar), p);
            for (const IsaLevel level : available_isa_levels()) {
                INFO(dtype_info(dtype).name << ' ' << isa_name(level) << ", bytes of " << fill);
                REQUIRE(same_bits(run_all(make_kernel_table(level), p), expected));
            }
        }
    }
}

TEST_CASE("rows beyond a chunk of activations give the same bits as alone") {
    ThreadPool pool(2);
    std::mt19937 random(5);
    Product p = make_product(DType::q4_0, 40, 2048, 301, pool, random);
    for (const IsaLevel level : available_isa_levels()) {
        INFO(isa_name(level));
        const KernelTable table = make_kernel_table(level);
        quantize_all(table, p);
        const std::vector<float> all = run_all(table, p);
        std::vector<float> alone(all.size(), NAN);
        for (uint32_t row = 0; row < p.n_inputs; ++row)
            run(table, p, row, 1, 0, p.matrix.n_panels(), alone.data());
        REQUIRE(same_bits(alone, all));
    }
}

TEST_CASE("bias and what out held are added, and nothing outside the asked rows and panels is touched") {
    ThreadPool pool(1);
    std::mt19937 random(6);
    for (const DType dtype : {DType::q4_1, DType::f16}) {
        Product p = make_product(dtype, 41, 96, 60, pool, random);
        std::vector<float> bias(p.rows), held(size_t{p.n_inputs} * p.rows);
        for (float& value : bias) value = static_cast<float>(random() % 100);
        for (float& value : held) value = static_cast<float>(random() % 100);
        for (const IsaLevel level : available_isa_levels()) {
            INFO(isa_name(level));
            const KernelTable table = make_kernel_table(level);
            quantize_all(table, p);
            const std::vector<float> plain = run_all(table, p);
            for (const uint32_t n : {3u, 55u}) {  // few rows, and enough of them to unpack
                std::vector<float> out = held;
                run(table, p, 1, n, 1, 2, out.data(), {bias.data(), true, nullptr});
                for (uint32_t t = 0; t < p.n_inputs; ++t) {
                    for (uint32_t r = 0; r < p.rows; ++r) {
                        const size_t at = size_t{t} * p.rows + r;
                        const bool asked = t >= 1 && t < 1 + n && r >= 16;
                        REQUIRE(out[at] == (asked ? held[at] + (plain[at] + bias[r]) : held[at]));
                    }
                }
            }
        }
    }
}

TEST_CASE("quantized rows hold the nearest int8 of each value and are equal on every ISA") {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    const uint32_t cols = 32 * 24;
    std::vector<float> x(cols);
    for (uint32_t k = 0; k < cols; ++k)
        x[k] = normal(random) * std::ldexp(1.0f, static_cast<int>(k / 32) * 8 - 100);
    for (uint32_t k = 0; k < 32; ++k) x[64 + k] = 0.0f;
    x[96] = -127.0f;  // halves, which go to even
    for (uint32_t k = 1; k < 32; ++k) x[96 + k] = static_cast<float>(k) + 0.5f;
    std::vector<std::byte> expected(quantized_row_bytes(cols));
    const std::vector<IsaLevel> levels = available_isa_levels();
    for (auto at = levels.rbegin(); at != levels.rend(); ++at) {  // scalar first
        const IsaLevel level = *at;
        std::vector<std::byte> bytes(quantized_row_bytes(cols));
        const QuantizedRows rows(bytes.data(), cols);
        quantize_rows(make_kernel_table(level), x.data(), cols, 0, 1, rows);
        if (level == IsaLevel::scalar) expected = bytes;
        REQUIRE(bytes == expected);
        const auto* q = reinterpret_cast<const int8_t*>(bytes.data());
        const auto* scales = reinterpret_cast<const float*>(bytes.data() + rows.layout.scales_offset);
        for (uint32_t k = 0; k < cols; ++k) {
            const double error = std::abs(double{x[k]} - double{scales[k / 32]} * q[k]);
            REQUIRE(error <= 0.5001 * double{scales[k / 32]} + 0x1p-100);
            REQUIRE(q[k] >= -127);
        }
        REQUIRE(scales[2] == 0.0f);
        REQUIRE(q[97] == 2);
        REQUIRE(q[98] == 2);
    }
}

TEST_CASE("zero, tiny and huge activations give finite results") {
    ThreadPool pool(1);
    std::mt19937 random(8);
    Product p = make_product(DType::q4_0, 16, 64, 4, pool, random);
    for (uint32_t k = 0; k < 64; ++k) {
        p.x[k] = 0.0f;
        p.x[64 + k] = std::numeric_limits<float>::denorm_min() * static_cast<float>(k);
        p.x[128 + k] = -0.0f;
        p.x[192 + k] = 1e37f;
    }
    for (const IsaLevel level : available_isa_levels()) {
        const KernelTable table = make_kernel_table(level);
        quantize_all(table, p);
        const std::vector<float> out = run_all(table, p);
        for (size_t i = 0; i < 48; ++i) REQUIRE(out[i] == 0.0f);
        for (size_t i = 48; i < 64; ++i) REQUIRE(std::isfinite(out[i]));
    }
}

TEST_CASE("one activation that isn't finite makes every output of its row not finite, and no other row's") {
    ThreadPool pool(1);
    std::mt19937 random(9);
    for (const DType dtype : test::kAllDTypes) {
        for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
            Product p = make_product(dtype, 20, 256, 3, pool, random);
            p.x[256 + 77] = bad;
            for (const IsaLevel level : available_isa_levels()) {
                INFO(dtype_info(dtype).name << ' ' << isa_name(level) << ' ' << bad);
                const KernelTable table = make_kernel_table(level);
                quantize_all(table, p);
                const std::vector<float> out = run_all(table, p);
                for (size_t i = 0; i < 60; ++i) REQUIRE(std::isfinite(out[i]) == (i < 20 || i >= 40));
            }
        }
    }
}

TEST_CASE("every table of this machine passes its self-test and a wrong kernel is found and replaced") {
    for (const IsaLevel level : available_isa_levels()) {
        KernelTable table = make_kernel_table(level);
        REQUIRE(self_test(table).ok());
        table.matmul[static_cast<size_t>(PackedKind::q5_k)] =
            table.matmul[static_cast<size_t>(PackedKind::q4_k)];
        const Status found = self_test(table);
        REQUIRE(found.code() == StatusCode::internal);
        REQUIRE(found.message().find("q5_k") != std::string::npos);
        std::vector<std::string> replaced;
        const KernelTable checked = make_checked_kernel_table(level, replaced);
        REQUIRE(replaced.empty());
        REQUIRE(self_test(checked).ok());
    }
}
