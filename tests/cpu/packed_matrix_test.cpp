#include "cpu/kernels/packed_matrix.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "block_weights.h"
#include "cpu/kernels/packed_form.h"

using namespace takt;
using namespace takt::cpu;

namespace {

void check_unpacks(DType dtype, uint32_t rows, uint32_t cols, const std::vector<std::byte>& blocks,
                   ThreadPool& pool) {
    Result<PackedMatrix> matrix = test::pack_blocks(dtype, rows, cols, blocks, pool);
    REQUIRE(matrix.ok());
    const std::vector<float> expected = test::dequantize(dtype, rows, cols, blocks);
    std::vector<float> got(expected.size(), -1.0f);
    matrix->unpack_rows(0, rows, got.data());
    REQUIRE(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0);
}

// What packed_form.h promises of a type's precision. `x` and `got` are 32 elements.
bool within_promise(Precision precision, const float* x, const float* got) {
    float largest = 0;
    for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(x[i]));
    for (size_t i = 0; i < 32; ++i) {
        const float error = std::abs(x[i] - got[i]);
        // A scale below 2^-14 is a multiple of 2^-24, so up to 2^-25 off for each of at most 31 * 31 steps.
        const float subnormal = 31 * 31 * 0x1p-25f;
        if (precision == Precision::exact && std::memcmp(x + i, got + i, sizeof(float)) != 0) return false;
        if (precision == Precision::scales_rounded && error > std::abs(x[i]) * 0x1p-11f + subnormal)
            return false;
        if (precision == Precision::rounded && error > largest / 127 * 0.501f + 0x1p-25f) return false;
    }
    return true;
}

void check_repacked(DType dtype, uint32_t rows, uint32_t cols, const std::vector<std::byte>& blocks,
                    ThreadPool& pool) {
    Result<PackedMatrix> matrix = test::pack_blocks(dtype, rows, cols, blocks, pool);
    REQUIRE(matrix.ok());
    const std::vector<float> expected = test::dequantize(dtype, rows, cols, blocks);
    std::vector<float> got(expected.size(), NAN);
    matrix->unpack_rows(0, rows, got.data());
    size_t n_wrong = 0;
    for (size_t i = 0; i < got.size(); i += 32)
        n_wrong += !within_promise(packed_form(dtype).precision, &expected[i], &got[i]);
    CHECK(n_wrong == 0);
}

}  // namespace

TEST_CASE("a matrix of a type without kernels is packed as precisely as its form promises") {
    ThreadPool pool(2);
    std::mt19937 random(7);
    for (const DType dtype : test::kRepackedDTypes) {
        INFO(dtype_info(dtype).name);
        CHECK(packed_form(dtype).stored != dtype);
        CHECK(packed_form(packed_form(dtype).stored).stored == packed_form(dtype).stored);
        const uint32_t block = dtype_info(dtype).block_elements;
        for (const uint32_t rows : {1u, 17u, 50u}) {
            for (const uint32_t blocks : {1u, 3u, 19u}) {
                const uint32_t cols = block * blocks;
                check_repacked(dtype, rows, cols, test::random_blocks(dtype, rows, cols, random), pool);
            }
        }
    }
    for (const DType dtype : test::kAllDTypes) CHECK(packed_form(dtype).stored == dtype);
}

TEST_CASE("mxfp4 scales outside float16 take the nearest one and keep what they can") {
    ThreadPool pool(1);
    std::vector<std::byte> blocks(4 * 17);
    const uint8_t exponents[] = {0, 103, 143, 255};  // 2^-128, 2^-25, 2^15, 2^127
    for (size_t b = 0; b < 4; ++b) {
        blocks[17 * b] = std::byte{exponents[b]};
        for (size_t i = 1; i < 17; ++i) blocks[17 * b + i] = std::byte{0x7f};  // -12 and 12
    }
    Result<PackedMatrix> matrix = test::pack_blocks(DType::mxfp4, 4, 32, blocks, pool);
    REQUIRE(matrix.ok());
    std::vector<float> got(4 * 32);
    matrix->unpack_rows(0, 4, got.data());
    CHECK(got[0] == 0.0f);
    CHECK(got[32] == -12 * 0x1p-25f);
    CHECK(got[64] == -12 * 0x1p15f);
    CHECK(got[96] == -16 * 0x1p15f);
    CHECK(got[31 + 96] == 15 * 0x1p15f);
}

TEST_CASE("a packed matrix gives back every row bit for bit") {
    ThreadPool pool(2);
    std::mt19937 random(1);
    for (const DType dtype : test::kAllDTypes) {
        INFO(dtype_info(dtype).name);
        const uint32_t block = dtype_info(dtype).block_elements;
        for (const uint32_t rows : {1u, 15u, 16u, 17u, 50u}) {
            for (const uint32_t blocks : {1u, 3u, 4u}) {
                const uint32_t cols = block == 1 ? 33 * blocks : block * blocks;
                check_unpacks(dtype, rows, cols, test::random_blocks(dtype, rows, cols, random), pool);
            }
        }
    }
}

TEST_CASE("a packed matrix gives back the reference values of every type") {
    const std::string folder = std::string(TAKT_TEST_DATA_DIR) + "/golden/";
    const nlohmann::json golden = nlohmann::json::parse(std::ifstream(folder + "dequant.json"));
    std::ifstream file(folder + "dequant.bin", std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ThreadPool pool(1);
    size_t n_checked = 0;
    for (const DType dtype : test::kAllDTypes) {
        const std::string name(dtype_info(dtype).name);
        INFO(name);
        for (const auto& entry : golden["entries"]) {
            std::string type = entry["type"];
            for (char& c : type) c = static_cast<char>(std::tolower(c));
            if (type != name) continue;
            const size_t raw = entry["raw"]["offset"], raw_size = entry["raw"]["size"],
                         f32 = entry["f32"]["offset"];
            const auto* first = reinterpret_cast<const std::byte*>(bytes.data()) + raw;
            Result<PackedMatrix> matrix = test::pack_blocks(dtype, 1, 1024, {first, first + raw_size}, pool);
            REQUIRE(matrix.ok());
            std::vector<float> got(1024);
            matrix->unpack_row(0, got.data());
            REQUIRE(std::memcmp(got.data(), bytes.data() + f32, 4096) == 0);
            ++n_checked;
        }
    }
    REQUIRE(n_checked == 11);
    for (const DType dtype : test::kRepackedDTypes) {
        const std::string name(dtype_info(dtype).name);
        INFO(name);
        for (const auto& entry : golden["entries"]) {
            if (entry["ggml_type"] != static_cast<uint32_t>(dtype)) continue;
            const size_t raw = entry["raw"]["offset"], raw_size = entry["raw"]["size"];
            const auto* first = reinterpret_cast<const std::byte*>(bytes.data()) + raw;
            check_repacked(dtype, 1, 1024, {first, first + raw_size}, pool);
            ++n_checked;
        }
    }
    REQUIRE(n_checked == 28);
}

TEST_CASE("a matrix larger than a window is read in order, whole, once") {
    ThreadPool pool(2);
    std::mt19937 random(2);
    const uint32_t rows = 1237, cols = 8192;  // about 10 MB of q8_0
    const std::vector<std::byte> blocks = test::random_blocks(DType::q8_0, rows, cols, random);
    const uint64_t stride = row_bytes(DType::q8_0, cols);
    uint64_t next_row = 0, largest = 0;
    const auto read = [&](uint64_t first_row, uint32_t n_rows, std::span<std::byte> out) -> Status {
        if (first_row != next_row) return Status(StatusCode::internal, "out of order");
        next_row += n_rows;
        largest = std::max<uint64_t>(largest, out.size());
        std::memcpy(out.data(), blocks.data() + first_row * stride, out.size());
        return {};
    };
    Result<PackedMatrix> matrix = PackedMatrix::pack(DType::q8_0, rows, cols, read, pool);
    REQUIRE(matrix.ok());
    REQUIRE(next_row == rows);
    REQUIRE(largest <= 4u << 20);
    REQUIRE(matrix->size_bytes() == *PackedMatrix::packed_bytes(DType::q8_0, rows, cols));
    std::vector<float> expected(cols), got(cols);
    for (const uint32_t row : {0u, 600u, 1236u}) {
        dequantize_row(DType::q8_0, std::span(blocks).subspan(row * stride, stride), expected);
        matrix->unpack_row(row, got.data());
        REQUIRE(got == expected);
    }
}

TEST_CASE("a failed read and a row that isn't whole blocks end the packing") {
    ThreadPool pool(1);
    const auto fail = [](uint64_t, uint32_t, std::span<std::byte>) -> Status {
        return Status(StatusCode::file_truncated, "short");
    };
    REQUIRE(PackedMatrix::pack(DType::q4_0, 4, 64, fail, pool).status().code() == StatusCode::file_truncated);
    REQUIRE(PackedMatrix::pack(DType::q4_k, 4, 64, fail, pool).status().code() ==
            StatusCode::invalid_argument);
    REQUIRE(PackedMatrix::pack(DType::q4_0, 0, 64, fail, pool).status().code() ==
            StatusCode::invalid_argument);
    REQUIRE(PackedMatrix::packed_bytes(DType::f32, 0xfffffff8u, 4).status().code() ==
            StatusCode::invalid_argument);
}

TEST_CASE("the packed form stays within three percent of the file's size") {
    for (const DType dtype : test::kAllDTypes) {
        INFO(dtype_info(dtype).name);
        const double packed = static_cast<double>(*PackedMatrix::packed_bytes(dtype, 4096, 2048));
        REQUIRE(packed <= 1.03 * static_cast<double>(4096 * row_bytes(dtype, 2048)));
    }
}
