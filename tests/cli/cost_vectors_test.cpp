// Costs, bounds of machines, published factors and speculation as metric_vectors.json has them.
#include <algorithm>
#include <optional>
#include <vector>

#include "numbers/cost.h"
#include "numbers/published.h"
#include "numbers/roofline.h"
#include "numbers/speculation.h"
#include "vector_checks.h"

using namespace cli;

TEST_CASE("cost per million tokens") {
    const Value section = metric_vectors("cost_per_million");
    std::vector<PriceRange> h100;
    std::map<std::string, double> cheapest;
    for (const Value& row : section.at("rows")) {
        INFO(row.dump());
        const auto hardware = row.at("hw").get<std::string>();
        const double stated = row.at("seed_cpm_usd");
        cheapest.emplace(hardware, stated);
        if (row.at("tok_s").is_null()) {
            const Value& check = row.at("check");
            CHECK(cost_per_million(check.at("price"), check.at("tok_s")) ==
                  to_digits(check.at("expect"), 5e-5));
            CHECK(rounded(cost_per_million(check.at("price"), check.at("tok_s")), 2) == stated);
            CHECK(usd_per_hour(stated, 1) == Approx(0.079992).epsilon(1e-12));
            CHECK(breakeven_hours(row.at("breakeven_hours").get<double>(), 2, 1) ==
                  row.at("breakeven_hours").get<double>());
            continue;
        }
        const double rate = row.at("tok_s"), price = row.at("check_price_usd_per_h");
        CHECK(usd_per_hour(stated, rate) == exactly(row.at("implied_usd_per_h")));
        const PriceRange range = prices_behind(stated, rate);
        CHECK(range.low == exactly(row.at("implied_interval_usd_per_h").at(0)));
        CHECK(range.high == exactly(row.at("implied_interval_usd_per_h").at(1)));
        CHECK(cost_per_million(price, rate) == to_digits(row.at("expect_cpm_at_check_price"), 5e-7));
        CHECK(rounded(cost_per_million(price, rate), 2) == row.at("expect_rounded").get<double>());
        CHECK((price >= range.low && price < range.high));
        if (hardware == "H100 SXM") h100.push_back(range);
    }
    REQUIRE(h100.size() == 3);
    const std::optional<PriceRange> common = common_prices(h100);
    REQUIRE(common);
    const Value& expect = section.at("one_price_for_all_h100_rows_usd_per_h");
    CHECK(common->low == exactly(expect.at(0)));
    CHECK(common->high == exactly(expect.at(1)));
    h100.push_back({3, 4});
    CHECK_FALSE(common_prices(h100));
    CHECK_FALSE(common_prices({}));

    REQUIRE(section.at("breakeven_vectors").size() == 1);
    for (const Value& row : section.at("breakeven_vectors")) {
        const double own = row.at("own_running_cost_per_h"), rent = row.at("rent_per_h");
        CHECK(breakeven_hours(row.at("purchase_price"), rent, own) == row.at("expect_hours").get<double>());
        CHECK(row.at("expect_hours") == section.at("rows").back().at("breakeven_hours"));
        CHECK_FALSE(breakeven_hours(row.at("purchase_price"), own, rent));
    }
    REQUIRE(section.at("ratios").size() == 1);
    CHECK(section.at("ratios").at(0).at("expect") == "token cost lower by up to 10x");
    CHECK(rounded(cheapest.at("H100 SXM") / cheapest.at("NVIDIA B200"), 1) == 9.5);
}

TEST_CASE("bounds of a machine") {
    check_by_id(
        "roofline",
        {{"attention_scores",
          [](const Value& entry) {
              CHECK(attention_scores(number(entry, "prompt_tokens")) == entry.at("expect").get<double>());
          }},
         {"decode_weight_read_bytes",
          [](const Value& entry) {
              CHECK(weight_read_bytes(number(entry, "params"), number(entry, "bytes")) ==
                    entry.at("expect").get<double>());
          }},
         {"prefill_intensity",
          [](const Value& entry) {
              CHECK(prefill_intensity(number(entry, "T"), number(entry, "bytes")) ==
                    entry.at("expect").get<double>());
          }},
         {"ridge_point",
          [](const Value& entry) {
              CHECK(ridge_point(number(entry, "peak_flops"), number(entry, "bandwidth")) ==
                    to_digits(entry.at("expect"), 5e-3));
          }},
         {"decode_tok_s_bound", [](const Value& entry) {
              const DecodeLoad load{number(entry, "weight_bytes"), number(entry, "kv_bytes"),
                                    number(entry, "batch")};
              const double bound = decode_bound(load, number(entry, "bandwidth"));
              CHECK(bound == to_digits(entry.at("expect"), 5e-4));
              CHECK(bandwidth_for(load, bound) == Approx(number(entry, "bandwidth")));
          }}});
    // Eight sequences share the weights, not the keys and values.
    CHECK(decode_bound({100, 10, 8}, 1800) == 80);
    CHECK(bandwidth_for({100, 10, 8}, 80) == 1800);
    CHECK(operations_for(1e9, 50) == 1e11);
}

TEST_CASE("published factors") {
    const Value section = metric_vectors("other_factors");
    REQUIRE(section.size() == published_factors().size());
    for (const Value& entry : section) {
        const auto id = entry.at("id").get<std::string>();
        INFO(id);
        const std::span<const PublishedFactor> factors = published_factors();
        const auto factor =
            std::ranges::find_if(factors, [&](const PublishedFactor& f) { return f.id == id; });
        REQUIRE(factor != factors.end());
        switch (factor->kind) {
            case FactorKind::falls_by: {
                const double before = entry.at("inp").begin()->get<double>();
                CHECK(after_fall(before, factor->value) ==
                      Approx(entry.at("expect").get<double>()).epsilon(1e-12));
                break;
            }
            case FactorKind::at_most_share:
                CHECK(factor->value == entry.at("expect_max_fraction").get<double>());
                break;
            case FactorKind::at_most_ms:
                CHECK(factor->value == entry.at("expect_max_ms_per_token").get<double>());
                break;
            case FactorKind::saves_at_least_ms:
                CHECK(factor->value == entry.at("expect_min_ms_saved_per_token").get<double>());
                break;
            case FactorKind::tokens_per_second:
                CHECK(factor->value == to_digits(entry.at("expect"), 5e-3));
                break;
        }
    }
}

TEST_CASE("speculative decoding") {
    const Value section = metric_vectors("speculative");
    CHECK(keys_of(section) == std::set<std::string>{"tokens_per_step", "speedup", "observed", "rows",
                                                    "seed_rows", "observed_vector", "src"});
    REQUIRE(section.at("rows").size() == 5);
    for (const Value& row : section.at("rows")) {
        const double alpha = row.at("alpha"), gamma = row.at("gamma"), c = row.at("c");
        CHECK(tokens_per_verify_step(alpha, gamma) ==
              Approx(row.at("expect_tokens_per_step").get<double>()).epsilon(1e-12));
        CHECK(speculative_speedup(alpha, gamma, c) == to_digits(row.at("expect_speedup"), 5e-10));
    }
    const Value& vector = section.at("observed_vector");
    const auto histogram = vector.at("histogram").get<std::vector<uint64_t>>();
    const ObservedSpeculation seen = observed_speculation(histogram, vector.at("num_spec_tokens"));
    const Value expect = {{"steps", seen.steps},
                          {"accepted", seen.accepted},
                          {"drafted", seen.drafted},
                          {"mean_acceptance_length", seen.mean_acceptance_length},
                          {"draft_acceptance_rate", seen.draft_acceptance_rate},
                          {"accepted_per_verified", seen.kept_of_verified}};
    CHECK(vector.at("expect") == expect);
    const std::vector<uint64_t> mixed = {1, 0, 1}, none;
    CHECK(observed_speculation(mixed, 2).draft_acceptance_rate == 0.5);
    CHECK(observed_speculation(mixed, 2).mean_acceptance_length == 2);
    CHECK(std::isnan(observed_speculation(none, 3).mean_acceptance_length));

    REQUIRE(section.at("seed_rows").size() == published_speculation().size());
    for (size_t i = 0; i < published_speculation().size(); ++i) {
        const PublishedClaim& claim = published_speculation()[i];
        CHECK(section.at("seed_rows")[i] == Value{{"claim", claim.claim}, {"cond", claim.condition}});
    }
}
