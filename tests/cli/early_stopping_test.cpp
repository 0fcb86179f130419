// LoadGen's early stopping against worked-out counts.
#include <catch2/catch.hpp>

#include "metric_vectors.h"
#include "numbers/early_stopping.h"

namespace {

TEST_CASE("the fewest queries for so many over the bound") {
    const nlohmann::json rows = metric_vectors("loadgen_early_stopping").at("rows");
    REQUIRE(rows.size() >= 12);
    for (const nlohmann::json& row : rows) {
        INFO(row.dump());
        CHECK(cli::early_stopping_queries(row.at("over_latency").get<uint64_t>(),
                                          row.at("percentile").get<double>()) ==
              row.at("expect_min_queries").get<uint64_t>());
    }
}

TEST_CASE("the sample that stands for a percentile") {
    CHECK(!cli::early_stopping_rank(0, 0.9));
    CHECK(!cli::early_stopping_rank(63, 0.9));
    CHECK(cli::early_stopping_rank(64, 0.9) == 1u);  // the largest
    CHECK(cli::early_stopping_rank(80, 0.9) == 1u);
    CHECK(cli::early_stopping_rank(81, 0.9) == 2u);
    CHECK(cli::early_stopping_rank(197, 0.9) == 10u);
    CHECK(!cli::early_stopping_rank(661, 0.99));
    CHECK(cli::early_stopping_rank(1001, 0.99) == 3u);
}

TEST_CASE("many queries over the bound do not take the arithmetic beyond its range") {
    const uint64_t n = cli::early_stopping_queries(2000, 0.9);
    CHECK(n > 20'000);  // a tenth of them alone would be even odds
    CHECK(n < 22'000);
}

}  // namespace
