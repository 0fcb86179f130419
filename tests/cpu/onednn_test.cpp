// Products through oneDNN, whichever version takt was built with; without oneDNN they are takt's own.
#include "cpu/onednn_matmul.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "block_weights.h"
#include "cpu/kernels/kernel_choice.h"
#include "cpu/onednn_rates.h"

using namespace takt;
using namespace takt::cpu;

namespace {

constexpr DType kDenseTypes[] = {DType::f32, DType::f16, DType::bf16};
constexpr uint32_t kOutputs = 117, kInputs = 200, kRows = 131, kStride = 120;  // no whole panels
constexpr uint32_t kFirstRow = 2, kFirstPanel = 1, kPanels = 6;

struct Operands {
    PackedMatrix matrix;
    std::vector<float> x, bias, scratch;
};

Operands make_operands(DType dtype, ThreadPool& pool) {
    std::mt19937 random(20);
    std::normal_distribution<float> normal;
    const std::vector<std::byte> blocks = test::random_blocks(dtype, kOutputs, kInputs, random);
    Operands operands{test::pack_blocks(dtype, kOutputs, kInputs, blocks, pool).value(), {}, {}, {}};
    for (size_t i = 0; i < size_t{kRows} * kInputs; ++i) operands.x.push_back(normal(random));
    for (size_t i = 0; i < kOutputs; ++i) operands.bias.push_back(normal(random));
    operands.scratch.resize(onednn_scratch_floats(kInputs));
    return operands;
}

// Of the whole part that was asked for; what lies outside must be as in `own`.
double relative_error(const std::vector<float>& got, const std::vector<float>& own) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < own.size(); ++i) {
        const uint32_t row = static_cast<uint32_t>(i / kStride), output = static_cast<uint32_t>(i % kStride);
        const bool asked = row >= kFirstRow && output >= kFirstPanel * kPanelRows &&
                           output < std::min((kFirstPanel + kPanels) * kPanelRows, kOutputs);
        if (!asked && got[i] != own[i]) return HUGE_VAL;
        const double error = static_cast<double>(got[i]) - static_cast<double>(own[i]);
        difference += error * error;
        size += static_cast<double>(own[i]) * static_cast<double>(own[i]);
    }
    return std::sqrt(difference / size);
}

}  // namespace

TEST_CASE("a part of a product through oneDNN equals the own kernel's, bias and accumulation included") {
    ThreadPool pool(1);
    const KernelTable kernels = make_kernel_table(detect_isa());
    for (const DType dtype : kDenseTypes) {
        Operands o = make_operands(dtype, pool);
        for (const bool accumulate : {false, true}) {
            for (const bool biased : {false, true}) {
                INFO(dtype_info(dtype).name << (accumulate ? " accumulated" : "")
                                            << (biased ? " biased" : ""));
                MatmulOptions options;
                options.bias = biased ? o.bias.data() : nullptr;
                options.accumulate = accumulate;
                std::vector<float> own(size_t{kRows} * kStride, 1.5f), got = own;
                matmul_dense(kernels, o.matrix, o.x.data(), kInputs, kFirstRow, kRows - kFirstRow,
                             kFirstPanel, kPanels, own.data(), kStride, options);
                onednn_multiply(kernels, o.matrix, o.x.data(), kInputs, kFirstRow, kRows - kFirstRow,
                                kFirstPanel, kPanels, got.data(), kStride, options, o.scratch.data());
                // x rounded to bf16 has 8 bits of fraction.
                CHECK(relative_error(got, own) < (dtype == DType::bf16 ? 4e-3 : 1e-6));
            }
        }
    }
}

TEST_CASE("oneDNN takes bf16 weights on AMX alone, and block types never") {
    for (const IsaLevel level : available_isa_levels()) {
        CHECK(onednn_least_rows(level, PackedKind::bf16, false) == 0);
        CHECK(onednn_least_rows(level, PackedKind::q8_0, true) == 0);
        if (level != IsaLevel::avx512_vnni) CHECK(onednn_least_rows(level, PackedKind::bf16, true) == 0);
    }
    const bool built_in = onednn_least_rows(IsaLevel::avx2, PackedKind::f16, false) != 0;
    CHECK((onednn_least_rows(IsaLevel::avx512_vnni, PackedKind::bf16, true) != 0) == built_in);
}

TEST_CASE("oneDNN's rates are there for both types of product, or for none") {
    ThreadPool pool(2);
    const std::optional<double> whole = onednn_rate(pool, ProductType::u8_by_s8, 32, {64, 128}),
                                real = onednn_rate(pool, ProductType::float32, 32, {64, 128});
    REQUIRE(whole.has_value() == real.has_value());
    if (whole.has_value()) {
        CHECK(*whole > 0);
        CHECK(*real > 0);
    }
}
