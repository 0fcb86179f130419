// Every entry of the calculators' sections of metric_vectors.json. An entry that no check knows fails.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "metric_vectors.h"
#include "numbers/cost.h"
#include "numbers/published.h"
#include "numbers/roofline.h"
#include "numbers/sizing.h"
#include "numbers/speculation.h"
#include "numbers/words.h"

using namespace cli;
using Value = nlohmann::json;

namespace {

// Equal but for the last bits of a sum in another order.
Approx exactly(const Value& value) {
    return Approx(value.get<double>()).epsilon(1e-14);
}
// To the digits that the file has.
Approx to_digits(const Value& value, double half_of_last) {
    return Approx(value.get<double>()).epsilon(0).margin(half_of_last * (1 + 1e-9));
}
double rounded(double value, int decimals) {
    const double scale = std::pow(10, decimals);
    return std::round(value * scale) / scale;
}
double number(const Value& entry, const char* key) {
    return entry.at("inp").at(key).get<double>();
}

using Checks = std::map<std::string, std::function<void(const Value&)>>;

// Each entry has its check, and each check its entry.
void check_by_id(const char* section, const Checks& checks) {
    std::set<std::string> seen;
    for (const Value& entry : metric_vectors(section)) {
        const auto id = entry.at("id").get<std::string>();
        INFO(section << " " << id);
        REQUIRE(checks.count(id) == 1);
        checks.at(id)(entry);
        seen.insert(id);
    }
    CHECK(seen.size() == checks.size());
}

std::set<std::string> keys_of(const Value& object) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.insert(key);
    return keys;
}

}  // namespace

TEST_CASE("sections of metric_vectors.json that are known, here or in the other tests of this folder") {
    const std::set<std::string> here = {"sizing",           "batch_time",       "latency_e2e",
                                        "percentile_table", "cost_per_million", "continuous_batching_gain",
                                        "tokens_words",     "roofline",         "other_factors",
                                        "speculative"};
    const std::set<std::string> elsewhere = {"meta",    "slo_presets", "timelines",
                                             "goodput", "percentiles", "loadgen_early_stopping"};
    std::ifstream file(std::string(TAKT_TEST_DATA_DIR) + "/metric_vectors.json");
    std::set<std::string> known = here;
    known.insert(elsewhere.begin(), elsewhere.end());
    CHECK(keys_of(Value::parse(file)) == known);
}

TEST_CASE("loads and bands") {
    const auto check_band = [](const Value& entry) {
        const BandLoad load = band_load(number(entry, "band_tok_s"), kReferenceRequest.all());
        const Value& expect = entry.at("expect");
        CHECK(load.whole_requests_per_second == expect.at("requests_per_s").get<double>());
        CHECK(load.seconds_per_request == expect.at("seconds_per_request").get<double>());
        CHECK(load.requests_per_second == exactly(expect.at("exact_ratio")));
        CHECK(load.exact_seconds_per_request == exactly(expect.at("exact_seconds")));
    };
    check_by_id("sizing", {{"effective_limit",
                            [](const Value& entry) {
                                CHECK(effective_limit(number(entry, "provisioned_concurrency"),
                                                      number(entry, "min_band_tok_s")) ==
                                      entry.at("expect").get<double>());
                            }},
                           {"reference_request_tokens",
                            [](const Value& entry) {
                                CHECK(number(entry, "inp") == kReferenceRequest.input);
                                CHECK(number(entry, "out") == kReferenceRequest.output);
                                CHECK(kReferenceRequest.all() == entry.at("expect").get<double>());
                            }},
                           {"band_2304", check_band},
                           {"band_5600", check_band},
                           {"saturation_cap", [](const Value& entry) {
                                const double cap = number(entry, "cap_tok_s");
                                CHECK(saturated(cap * 2, cap) == entry.at("expect").get<double>());
                                CHECK(saturated(cap / 2, cap) == cap / 2);
                            }}});
    CHECK_FALSE(band_load(2303, 2304).seconds_per_request);
}

TEST_CASE("the time of a batch") {
    const auto check = [](const Value& entry) {
        const BatchTime time =
            batch_time(number(entry, "rows"), {number(entry, "in_tokens"), number(entry, "out_tokens")},
                       number(entry, "band_tok_s"), kDefaultRho);
        const Value& expect = entry.at("expect");
        CHECK(time.plain_seconds == expect.at("naive_seconds").get<double>());
        CHECK(time.weighted_seconds == exactly(expect.at("weighted_seconds_rho4")));
        CHECK((time.weighted_seconds > 1000 ? "more" : "less") ==
              expect.at("verdict_vs_1000s").get<std::string>());
    };
    check_by_id("batch_time", {{"batch_1000x3000+500@3500", check}, {"batch_1000x1500+100@1600", check}});
    CHECK(token_weights(kDefaultRho).input == 0.75);
    CHECK(token_weights(kDefaultRho).output == 3);
    CHECK(token_weights(1).input == 1);
}

TEST_CASE("end-to-end times, and the percentiles they are made of") {
    const Value table = metric_vectors("percentile_table").at("rows");
    REQUIRE(table.size() == published_latencies().size());
    std::map<std::pair<std::string, std::string>, std::pair<double, double>> published;
    for (size_t i = 0; i < table.size(); ++i) {
        const PublishedLatency& row = published_latencies()[i];
        const Value expect = {
            {"model", row.model},
            {"ttft", {{"p50", row.ttft_p50}, {"p95", row.ttft_p95}, {"p99", row.ttft_p99}}},
            {"tpot", {{"p50", row.tpot_p50}, {"p95", row.tpot_p95}, {"p99", row.tpot_p99}}}};
        CHECK(table[i] == expect);
        for (const char* q : {"p50", "p95", "p99"})
            published[{std::string(row.model), q}] = {expect["ttft"][q], expect["tpot"][q]};
    }
    const Value rows = metric_vectors("latency_e2e").at("rows");
    REQUIRE(rows.size() == 27);
    for (const Value& row : rows) {
        INFO(row.dump());
        const double ttft = row.at("ttft"), tpot = row.at("tpot");
        CHECK(published.at({row.at("model"), row.at("q")}) == std::pair(ttft, tpot));
        const E2eTime time = e2e_time(ttft, tpot, row.at("n_out").get<double>());
        CHECK(time.estimate == exactly(row.at("expect_seed")));
        CHECK(time.exact == exactly(row.at("expect_exact")));
    }
}

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

TEST_CASE("the gain of continuous batching") {
    const Value rows = metric_vectors("continuous_batching_gain");
    REQUIRE(rows.size() == 4);
    for (const Value& row : rows) {
        const double gain = batching_gain(row.at("continuous_req_per_min"), row.at("static_req_per_min"));
        CHECK(gain == exactly(row.at("exact")));
        CHECK(rounded(gain, 1) == row.at("expect_gain").get<double>());
    }
}

TEST_CASE("tokens and words") {
    const auto per_minute = [](const Value& entry) {
        CHECK(words_per_minute(number(entry, "tpot_s")) == exactly(entry.at("expect")));
        const double other = words_per_minute(number(entry, "tpot_s"), kWordsPerToken);
        CHECK(other == Approx(number(entry, "tpot_s") == 0.1 ? 450 : 1500));
    };
    check_by_id("tokens_words",
                {{"words_to_tokens",
                  [](const Value& entry) {
                      CHECK(tokens_of_words(number(entry, "words")) == exactly(entry.at("expect")));
                  }},
                 {"tok_s_to_words_s",
                  [](const Value& entry) {
                      CHECK(words_per_second(number(entry, "tok_s")) == exactly(entry.at("expect")));
                  }},
                 {"tpot_to_wpm_server", per_minute},
                 {"tpot_to_wpm_interactive", per_minute}});
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
