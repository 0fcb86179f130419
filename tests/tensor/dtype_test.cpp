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
    size_t n_read = 0;
    for (uint32_t id = 0; id < 400; ++id) {
        INFO(id);
        const DTypeInfo* info = find_dtype(id);
        if (info != nullptr) {
            ++n_read;
            CHECK(static_cast<uint32_t>(info->dtype) == id);
            CHECK(&dtype_info(info->dtype) == info);
            CHECK(foreign_dtype_name(id).empty());
        } else if (id <= 42) {
            CHECK_FALSE(foreign_dtype_name(id).empty());
        }
    }
    CHECK(n_read == 28);
    CHECK(foreign_dtype_name(24) == "i8");
    CHECK(foreign_dtype_name(28) == "f64");
    CHECK(foreign_dtype_name(33) == "q4_0_8_8");  // retired
    CHECK(foreign_dtype_name(139) == "iq4_k");    // a fork's
    CHECK(foreign_dtype_name(202) == "q4_0_r8");  // the same
    CHECK(foreign_dtype_name(43).empty());
    CHECK(foreign_dtype_name(UINT32_MAX).empty());
    CHECK(find_dtype(UINT32_MAX) == nullptr);
}
