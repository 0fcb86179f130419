#include "cpu/kernels/packed_matrix.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "block_weights.h"

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

}  // namespace

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
    REQUIRE(n_checked >= 8);
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
