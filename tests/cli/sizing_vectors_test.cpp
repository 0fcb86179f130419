// Loads, bands, times and words as metric_vectors.json has them; and that no section of it is unknown.
#include <fstream>

#include "numbers/published.h"
#include "numbers/sizing.h"
#include "numbers/words.h"
#include "vector_checks.h"

using namespace cli;

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
