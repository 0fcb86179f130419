// Every type against the golden bits, and the half-precision conversions over all their values.
#include "tensor/dequantize.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace takt;

namespace {

std::vector<char> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file.good());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

uint32_t bits_of(float value) {
    return std::bit_cast<uint32_t>(value);
}

}  // namespace

TEST_CASE("Each type gives the golden bits") {
    const std::string folder = std::string(TAKT_TEST_DATA_DIR) + "/golden/";
    const std::vector<char> text = read_file(folder + "dequant.json");
    const std::vector<char> data = read_file(folder + "dequant.bin");
    int n_checked = 0;
    const nlohmann::json golden_file = nlohmann::json::parse(text.begin(), text.end());
    for (const nlohmann::json& entry : golden_file.at("entries")) {
        const DTypeInfo* info = find_dtype(entry.at("ggml_type").get<uint32_t>());
        REQUIRE(info != nullptr);
        INFO(info->name);
        const auto n_elements = entry.at("elements").get<size_t>();
        const size_t raw_at = entry.at("raw").at("offset"), raw_size = entry.at("raw").at("size");
        REQUIRE(row_bytes(info->dtype, n_elements) == raw_size);
        // One byte off, since no alignment is asked of blocks.
        std::vector<char> raw(raw_size + 1);
        std::memcpy(raw.data() + 1, data.data() + raw_at, raw_size);
        std::vector<float> out(n_elements), golden(n_elements);
        std::memcpy(golden.data(), data.data() + entry.at("f32").at("offset").get<size_t>(),
                    n_elements * sizeof(float));
        dequantize_row(info->dtype, std::as_bytes(std::span(raw).subspan(1)), out);
        size_t n_different = 0;
        for (size_t i = 0; i < n_elements; ++i) n_different += bits_of(out[i]) != bits_of(golden[i]);
        CHECK(n_different == 0);
        ++n_checked;
    }
    CHECK(n_checked == 28);
}

TEST_CASE("Every f16 value becomes the float of the same value, and comes back as the same bits") {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float value = f16_to_f32(static_cast<uint16_t>(bits));
        const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
        const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
        if (exponent == 31) {
            REQUIRE((mantissa == 0 ? std::isinf(value) : std::isnan(value)));
        } else if (exponent == 0) {
            REQUIRE(value == sign * std::ldexp(static_cast<float>(mantissa), -24));
        } else {
            REQUIRE(value ==
                    sign * std::ldexp(static_cast<float>(mantissa + 1024), static_cast<int>(exponent) - 25));
        }
        REQUIRE(std::signbit(value) == ((bits & 0x8000) != 0));
        const uint16_t back = f32_to_f16(value);
        if (std::isnan(value))
            REQUIRE(std::isnan(f16_to_f32(back)));
        else
            REQUIRE(back == bits);
    }
}

TEST_CASE("Rounding to f16 goes to the nearest, ties to even") {
    for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
        const float low = f16_to_f32(static_cast<uint16_t>(bits)),
                    high = f16_to_f32(static_cast<uint16_t>(bits + 1));
        const float middle = low + (high - low) / 2;
        const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
        REQUIRE(f32_to_f16(middle) == even);
        REQUIRE(f32_to_f16(std::nextafter(middle, 0.0f)) == bits);
        REQUIRE(f32_to_f16(std::nextafter(middle, 1e6f)) == bits + 1);
        REQUIRE(f32_to_f16(-middle) == (even | 0x8000));
    }
    CHECK(f32_to_f16(65519.99f) == 0x7bff);
    CHECK(f32_to_f16(65520.0f) == 0x7c00);
    CHECK(f32_to_f16(-1e30f) == 0xfc00);
    CHECK(f32_to_f16(std::numeric_limits<float>::denorm_min()) == 0);
    CHECK(f32_to_f16(-0.0f) == 0x8000);
}

TEST_CASE("bf16 is the upper half of a float") {
    CHECK(bf16_to_f32(0x3f80) == 1.0f);
    CHECK(bf16_to_f32(0xc000) == -2.0f);
    CHECK(bits_of(bf16_to_f32(0x0001)) == 0x00010000u);
}
