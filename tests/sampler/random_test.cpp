// The counted random numbers: known values, range, independence of neighbours.
#include <catch2/catch.hpp>

#include <cmath>
#include <set>

#include "sampler/portable_exp.h"
#include "sampler/random.h"

namespace takt {

TEST_CASE("random numbers are those of Philox 4x32-10") {
    // Published vectors: an all-zero key and counter gives 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
    CHECK(random_unit(0, 0) == static_cast<double>(0xe169c58d6627e8d5u >> 11) * 0x1p-53);
    CHECK(random_unit(0, 0) == random_unit(0, 0));
}

TEST_CASE("random numbers fill [0, 1) evenly and differ with every seed and position") {
    std::set<double> seen;
    double sum = 0;
    size_t in_lowest_tenth = 0;
    for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0xFFFFFFFF}, ~uint64_t{0}}) {
        for (uint64_t position = 0; position < 2500; ++position) {
            const double x = random_unit(seed, position);
            REQUIRE((x >= 0 && x < 1));
            seen.insert(x);
            sum += x;
            in_lowest_tenth += x < 0.1;
        }
    }
    CHECK(seen.size() == 10000);
    CHECK(sum / 10000 == Approx(0.5).margin(0.015));
    CHECK((in_lowest_tenth > 900 && in_lowest_tenth < 1100));
}

TEST_CASE("the portable exp is exp to the last bits") {
    for (double x = 0; x > -680; x -= 0.37) CHECK(portable_exp(x) == Approx(std::exp(x)).epsilon(1e-14));
    CHECK(portable_exp(0) == 1);
    CHECK(portable_exp(-1e300) == 0);
    CHECK(portable_exp(-INFINITY) == 0);
    CHECK(portable_exp(-5e-324) == 1);
}

}  // namespace takt
