// Encoders: how far they are from what they were given, against the usual engine's figures and against what
// must come back exactly.
#include "quantize/encode.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <random>
#include <vector>

#include "tensor/dequantize.h"

using namespace takt;

namespace {

std::vector<float> gaussian(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, 0.05f);
    std::vector<float> values(n);
    for (float& value : values) value = normal(random);
    return values;
}

std::vector<float> back(DType dtype, const std::vector<float>& values,
                        std::span<const float> importance = {}) {
    std::vector<std::byte> bytes(row_bytes(dtype, values.size()));
    encode_row(dtype, values, importance, bytes);
    std::vector<float> out(values.size());
    dequantize_row(dtype, bytes, out);
    return out;
}

double rmse(const std::vector<float>& a, const std::vector<float>& b, std::span<const float> weight = {}) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const double w = weight.empty() ? 1.0 : double{weight[i]}, off = double{a[i]} - b[i];
        sum += w * off * off;
        weights += w;
    }
    return std::sqrt(sum / weights);
}

// Relative RMSE of ggml 0.25.3's quantizers on gaussian values, 512 rows of 1024.
struct Figure {
    DType dtype;
    double usual;
};
constexpr Figure kFigures[] = {{DType::q4_0, 0.08606}, {DType::q4_1, 0.07820}, {DType::q5_0, 0.04272},
                               {DType::q5_1, 0.03782}, {DType::q8_0, 0.00536}, {DType::q4_k, 0.07134},
                               {DType::q5_k, 0.03612}, {DType::q6_k, 0.01774}};

}  // namespace

TEST_CASE("Encoded gaussian values are at least as near as the usual engine's") {
    const std::vector<float> values = gaussian(size_t{1} << 18, 1);
    for (const Figure& figure : kFigures) {
        INFO(dtype_info(figure.dtype).name);
        const double relative = rmse(values, back(figure.dtype, values)) / 0.05;
        CHECK(relative < figure.usual * 1.005);
        CHECK(relative > figure.usual * 0.85);
    }
}

TEST_CASE("Importance makes the columns nearer that have it") {
    const std::vector<float> values = gaussian(size_t{1} << 16, 2);
    std::vector<float> importance(values.size());
    std::mt19937 random(3);
    for (float& weight : importance) weight = std::exp(std::normal_distribution<float>(0.0f, 1.5f)(random));
    for (const Figure& figure : kFigures) {
        INFO(dtype_info(figure.dtype).name);
        const double plain = rmse(values, back(figure.dtype, values), importance);
        const double weighted = rmse(values, back(figure.dtype, values, importance), importance);
        if (figure.dtype == DType::q8_0) {
            CHECK(weighted == plain);  // the range decides
        } else {
            CHECK(weighted < plain * 0.97);
        }
    }
    const std::vector<float> zeros(values.size(), 0.0f);
    CHECK(back(DType::q4_k, values, zeros) == back(DType::q4_k, values));
}

TEST_CASE("Values that a type can hold come back exactly") {
    for (const Figure& figure : kFigures) {
        INFO(dtype_info(figure.dtype).name);
        for (const float constant : {0.0f, 0.5f, -2.0f}) {
            const std::vector<float> same(256, constant);
            const std::vector<float> got = back(figure.dtype, same);
            for (const float value : got) CHECK(value == Approx(constant).epsilon(2e-3));
        }
    }
    // A grid of its own: whole numbers times a power of two.
    std::mt19937 random(4);
    for (const auto& [dtype, low, high] : {std::tuple{DType::q4_0, -8, 7},
                                           {DType::q5_0, -16, 15},
                                           {DType::q4_1, 0, 15},
                                           {DType::q5_1, 0, 31},
                                           {DType::q6_k, -32, 31},
                                           {DType::q4_k, 0, 15},
                                           {DType::q5_k, 0, 31}}) {
        INFO(dtype_info(dtype).name);
        std::vector<float> grid(256);
        for (size_t i = 0; i < grid.size(); ++i)
            grid[i] =
                0x1p-6f * static_cast<float>(
                              i % 16 == 0 ? low
                              : i % 16 == 1
                                  ? high
                                  : low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1)));
        CHECK(rmse(grid, back(dtype, grid)) < 1e-3 * 0x1p-6f * high);
    }
}

TEST_CASE("Tiny, huge and lone values are encoded to finite ones") {
    for (const Figure& figure : kFigures) {
        INFO(dtype_info(figure.dtype).name);
        for (const float size : {1e-38f, 1e-10f, 6e-8f, 1e-6f, 1.0f, 60000.0f}) {
            std::vector<float> values = gaussian(512, 5);
            for (float& value : values) value *= size / 0.2f;
            values[7] = size;
            values[300] = -size;
            for (size_t i = 0; i < values.size(); ++i) values[i] = std::min(std::max(values[i], -size), size);
            const std::vector<float> got = back(figure.dtype, values);
            for (size_t i = 0; i < values.size(); ++i) {
                REQUIRE(std::isfinite(got[i]));
                REQUIRE(std::abs(got[i] - values[i]) <= std::max(0.25f * size, 1e-5f));
            }
        }
        std::vector<float> lone(256, 0.0f);
        lone[100] = 3.0f;
        const std::vector<float> got = back(figure.dtype, lone);
        CHECK(got[100] == Approx(3.0f).epsilon(1e-2));
        CHECK(got[0] == 0.0f);
    }
}

TEST_CASE("Plain types round to nearest, ties to even") {
    CHECK(back(DType::f32, {1.1f, -0.0f}) == std::vector<float>{1.1f, -0.0f});
    CHECK(back(DType::f16, {1.0f + 0x1p-11f, 65504.0f}) == std::vector<float>{1.0f, 65504.0f});
    CHECK(back(DType::bf16, {1.0f + 0x1p-8f, 1.0f + 0x1.8p-7f}) == std::vector<float>{1.0f, 1.0f + 0x1p-6f});
    CHECK(can_encode(DType::q6_k));
    CHECK_FALSE(can_encode(DType::iq4_xs));
}
