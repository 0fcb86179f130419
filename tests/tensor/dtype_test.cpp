// The table of tensor types.
#include "tensor/dtype.h"

#include <catch2/catch.hpp>

using namespace takt;

TEST_CASE("A type is found by its GGUF id, with its size") {
    const DTypeInfo* info = find_dtype(12);
    REQUIRE(info != nullptr);
    CHECK(info->dtype == DType::q4_k);
    CHECK(info->name == "q4_k");
    CHECK(row_bytes(DType::q4_k, 512) == 288);
    CHECK(row_bytes(DType::q8_0, 64) == 68);
    CHECK(row_bytes(DType::bf16, 3) == 6);
    CHECK(is_block_quantized(DType::q5_1));
    CHECK_FALSE(is_block_quantized(DType::f16));
}

TEST_CASE("An id is read, or foreign with a name, or nothing; never two of these") {
    for (uint32_t id = 0; id < 100; ++id) {
        INFO(id);
        const DTypeInfo* info = find_dtype(id);
        if (info != nullptr) {
            CHECK(static_cast<uint32_t>(info->dtype) == id);
            CHECK(&dtype_info(info->dtype) == info);
            CHECK(foreign_dtype_name(id).empty());
        } else {
            CHECK(foreign_dtype_name(id).empty() == (id > 42));
        }
    }
    CHECK(foreign_dtype_name(21) == "iq3_s");
    CHECK(foreign_dtype_name(24) == "i8");
    CHECK(foreign_dtype_name(28) == "f64");
    CHECK(foreign_dtype_name(39) == "mxfp4");
    CHECK(foreign_dtype_name(UINT32_MAX).empty());
    CHECK(find_dtype(UINT32_MAX) == nullptr);
}
