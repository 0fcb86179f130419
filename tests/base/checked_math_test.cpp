// Sums and products at the edge of 64 bits.
#include "base/checked_math.h"

#include <catch2/catch.hpp>

using namespace takt;

TEST_CASE("A sum, product or padding that fits is given, one that wraps is not") {
    CHECK(checked_add(UINT64_MAX - 1, 1) == UINT64_MAX);
    CHECK(checked_add(UINT64_MAX, 1) == std::nullopt);
    CHECK(checked_mul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1) == 0xffffffff00000000u);
    CHECK(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32) == std::nullopt);
    CHECK(checked_mul(0, UINT64_MAX) == 0u);
    CHECK(checked_align_up(0, 32) == 0u);
    CHECK(checked_align_up(33, 32) == 64u);
    CHECK(checked_align_up(64, 32) == 64u);
    CHECK(checked_align_up(UINT64_MAX - 31, 32) == UINT64_MAX - 31);
    CHECK(checked_align_up(UINT64_MAX - 30, 32) == std::nullopt);
}
