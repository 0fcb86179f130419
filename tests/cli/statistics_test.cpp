// Order statistics of short lists, by hand.
#include <catch2/catch.hpp>

#include <cmath>

#include "numbers/statistics.h"

TEST_CASE("a median is the middle, or the mean of the two in the middle") {
    CHECK(cli::median({3, 1, 2}) == 2);
    CHECK(cli::median({4, 1, 2, 3}) == 2.5);
    CHECK(cli::median({7}) == 7);
    CHECK(std::isnan(cli::median({})));
}
