// The edge cases of metrics.md 1.2, row by row, and that everything adds up, comes and goes as bytes.
#include <catch2/catch.hpp>

#include <cmath>

#include <nlohmann/json.hpp>

#include "timing/statistics.h"
#include "timing/statistics_bytes.h"

namespace takt {
namespace {

constexpr uint64_t kMs = 1'000'000;

struct Request {
    Timeline timeline;
    FinishReason reason = FinishReason::stop;
    Slo slo;
    uint64_t ended_ns = 0;
    bool imported = false;
    uint64_t number = 0;
};

// Steps of (ms, tokens).
Request request_of(std::vector<std::pair<uint64_t, uint32_t>> steps, uint64_t ended_ms, FinishReason reason) {
    Request request;
    request.timeline.submitted_ns = 0;
    request.timeline.scheduled_ns = 5 * kMs;
    for (const auto& [ms, n] : steps) request.timeline.steps.push_back({ms * kMs, ms * kMs, 0, n});
    request.reason = reason;
    request.ended_ns = ended_ms * kMs;
    return request;
}

void record(Statistics& statistics, const Request& request) {
    const TimingSummary summary = summarize_phases(request.timeline, request.ended_ns);
    statistics.record({request.timeline, summary, request.reason, request.slo, request.ended_ns,
                       request.imported, request.number},
                      SmoothRule{});
}

Statistics some_statistics() {
    Statistics statistics;
    statistics.end_ns = 2000 * kMs;
    Request good = request_of({{40, 1}, {50, 2}, {70, 4}}, 71, FinishReason::stop);
    good.slo = {100 * kMs, 0, 0, 0};
    record(statistics, good);
    Request late = request_of({{140, 1}, {150, 1}}, 150, FinishReason::length);
    late.slo = {100 * kMs, 0, 0, 0};
    late.timeline.turn = 2;
    late.timeline.cached_tokens = 7;
    record(statistics, late);
    record(statistics, request_of({{30, 1}}, 31, FinishReason::cancelled));
    record(statistics, request_of({{30, 1}, {35, 1}}, 36, FinishReason::error));
    statistics.record_shed({100 * kMs, 0, 0, 0});
    statistics.totals.generated_tokens = 12;
    statistics.gauges.n_running = 3;
    statistics.gauges.pages_in_use = 10;
    statistics.gauges.page_waste = 0.25;
    return statistics;
}

}  // namespace

TEST_CASE("a request with several tokens a step keeps n - n1 latencies whose sum is s_m - s_1") {
    Statistics s;
    record(s, request_of({{40, 5}, {60, 1}, {90, 4}}, 95, FinishReason::length));
    CHECK(s[Series::itl].count() == 5);
    CHECK(s[Series::itl].sum() == 50 * kMs);
    CHECK(s[Series::step_gap].count() == 2);
    CHECK(s[Series::step_gap].sum() == 50 * kMs);
    CHECK(s[Series::step_gap].highest() == 30 * kMs);
    CHECK(s[Series::tpot].sum() == 10 * kMs);
    CHECK(s[Series::tpot_n1].sum() == 5555556);  // 50 / 9 ms
    CHECK(s[Series::ttft_first_miss].sum() == 40 * kMs);
    CHECK(s[Series::queue].sum() == 5 * kMs);
    CHECK(s[Series::prefill].sum() == 35 * kMs);
    CHECK(s[Series::decode].sum() == 50 * kMs);
    CHECK(s[Series::inference].sum() == 90 * kMs);
    CHECK(s[Series::e2e].sum() == 95 * kMs);
    CHECK(s[Series::generated_tokens].sum() == 10);
}

TEST_CASE("one token has a TTFT and no TPOT, none has neither") {
    Statistics s;
    record(s, request_of({{40, 1}}, 41, FinishReason::stop));
    record(s, request_of({}, 20, FinishReason::stop));
    CHECK(s[Series::ttft_first_miss].count() == 1);
    CHECK(s[Series::tpot].count() == 0);
    CHECK(s[Series::tpot_n1].count() == 0);
    CHECK(s[Series::itl].count() == 0);
    CHECK(s[Series::queue].count() == 2);
    CHECK(s[Series::e2e].count() == 2);
    CHECK(s.totals.finished[static_cast<size_t>(FinishReason::stop)] == 2);
}

TEST_CASE("a cancelled request has series of its own, and its gaps count") {
    Statistics s;
    record(s, request_of({{40, 1}, {55, 1}}, 60, FinishReason::cancelled));
    CHECK(s[Series::ttft_cancelled].count() == 1);
    CHECK(s[Series::ttft_first_miss].count() == 0);
    CHECK(s[Series::tpot].count() == 0);
    CHECK(s[Series::tpot_cancelled].sum() == 15 * kMs);
    CHECK(s[Series::itl].count() == 1);
    CHECK(s[Series::step_gap].count() == 1);
    CHECK(s[Series::e2e_cancelled].count() == 1);
    CHECK(s[Series::e2e].count() == 0);
}

TEST_CASE("a failed or late request counts its times, but no latencies of tokens") {
    for (const FinishReason reason : {FinishReason::error, FinishReason::deadline}) {
        Statistics s;
        Request request = request_of({{40, 1}, {55, 1}}, 60, reason);
        request.slo = {1000 * kMs, 0, 0, 0};
        request.timeline.gaps.total_ns = 15 * kMs;
        record(s, request);
        for (const Series none : {Series::ttft_first_miss, Series::ttft_cancelled, Series::tpot,
                                  Series::tpot_cancelled, Series::itl, Series::step_gap, Series::e2e})
            CHECK(s[none].count() == 0);
        CHECK(s.totals.gaps.total_ns == 0);
        CHECK(s[Series::queue].count() == 1);
        CHECK(s[Series::prefill].count() == 1);
        CHECK(s[Series::e2e_failed].count() == 1);
        CHECK(s.totals.slo_missed == 1);
        CHECK(s.totals.slo_failed == 1);
        CHECK(s.totals.slo_broken[0] == 0);
    }
}

TEST_CASE("turns and prefix hits are told apart, and together they are all") {
    Statistics s;
    for (const uint32_t turn : {1, 2, 3}) {
        for (const uint64_t cached : {0, 9}) {
            Request request = request_of({{40, 1}}, 41, FinishReason::stop);
            request.timeline.turn = turn;
            request.timeline.cached_tokens = cached;
            record(s, request);
        }
    }
    CHECK(s[Series::ttft_first_miss].count() == 1);
    CHECK(s[Series::ttft_first_hit].count() == 1);
    CHECK(s[Series::ttft_later_miss].count() == 2);
    CHECK(s[Series::ttft_later_hit].count() == 2);
    const auto named = [&](std::string_view name) {
        for (const Metric& metric : metrics()) {
            if (metric.name == name) return histogram_of(s, metric).count();
        }
        FAIL("no metric " << name);
        return uint64_t{0};
    };
    CHECK(named("ttft") == 6);
    CHECK(named("ttft_later_turns") == 4);
    CHECK(named("ttft_prefix_hit") == 3);
}

TEST_CASE("a request that was never scheduled has waited, and nothing else") {
    Statistics s;
    Request request = request_of({}, 50, FinishReason::deadline);
    request.timeline.scheduled_ns.reset();
    record(s, request);
    CHECK(s[Series::queue].sum() == 50 * kMs);
    CHECK(s[Series::prefill].count() == 0);
    CHECK(s[Series::inference].count() == 0);
    CHECK(s[Series::e2e_failed].sum() == 50 * kMs);
}

TEST_CASE("hand-over counts for imported requests alone, within their prefill") {
    Statistics s;
    Request request = request_of({{40, 1}}, 41, FinishReason::stop);
    request.timeline.handover_ns = 12 * kMs;
    record(s, request);
    CHECK(s[Series::handover].count() == 0);
    request.imported = true;
    record(s, request);
    CHECK(s[Series::handover].sum() == 12 * kMs);
}

TEST_CASE("attainment and goodput count who was served, failed, shed and let down") {
    const Statistics s = some_statistics();
    CHECK(s.totals.slo_good == 1);
    CHECK(s.totals.slo_missed == 2);  // late and shed
    CHECK(s.totals.slo_failed == 1);
    CHECK(s.totals.slo_broken[0] == 1);
    CHECK(s.totals.good_tokens == 7);
    const Rates rates = rates_of(s, Origin{});
    CHECK(rates.judged == 3);
    CHECK(rates.attainment == Approx(1.0 / 3));
    CHECK(rates.goodput_requests_per_second == Approx(0.5));
    CHECK(rates.goodput_tokens_per_second == Approx(3.5));
    CHECK(rates.output_tokens_per_second == Approx(6));
    CHECK(rates.requests_per_second == Approx(1));
    const double smooth = 7 + 2 + (1 - 2.5 * 0) + 2;  // nobody was later than a token each 200 ms
    CHECK(rates.smooth_goodput == Approx(smooth / 2));
}

TEST_CASE("adjusted percentiles count who was let down as infinitely late") {
    Statistics s;
    for (uint64_t i = 1; i <= 6; ++i) record(s, request_of({{10 * i, 1}}, 10 * i, FinishReason::stop));
    for (int i = 0; i < 3; ++i) record(s, request_of({}, 50, FinishReason::error));
    s.record_shed({});
    const auto json = nlohmann::json::parse(statistics_json(s, Origin{})).at("adjusted").at("ttft");
    CHECK(json.at("n") == 10);
    CHECK(json.at("n_infinite") == 4);
    CHECK(json.at("p50").get<double>() == Approx(50e6).epsilon(0.004));
    CHECK(json.at("p90").is_null());
}

TEST_CASE("those who stalled others most are named, the worst first") {
    Statistics s;
    for (uint64_t i = 1; i <= 20; ++i) {
        Request request = request_of({{40, 1}}, 41, FinishReason::stop);
        request.timeline.stalled_others_ns = i * 100;
        request.number = i;
        record(s, request);
    }
    const auto json = nlohmann::json::parse(statistics_json(s, Origin{})).at("stalled_others");
    REQUIRE(json.size() == StallList::kMost);
    CHECK(json[0].at("request_id") == 20);
    CHECK(json[0].at("ns") == 2000);
    CHECK(json[7].at("request_id") == 13);
}

TEST_CASE("a sum of thousands of engines still goes out and comes back") {
    Statistics sum, one = some_statistics();
    Origin origin{"m", "0", {R"({"cpu":"none"})"}, {}, false, "", 0, 0, 1};
    sum.assign(one);
    for (int i = 1; i < 5000; ++i) {
        const Origin other{
            "m", std::to_string(i), {"{\"load\":" + std::to_string(i) + "}"}, {}, false, "", 0, 0, 2};
        sum.merge(one);
        origin.merge(other);
    }
    const std::vector<std::byte> bytes = export_statistics(sum, origin);
    CHECK(bytes.size() < 100'000);
    Statistics copy;
    Origin from;
    REQUIRE(import_statistics(bytes, copy, from).ok());
    CHECK(statistics_json(copy, from) == statistics_json(sum, origin));
    CHECK(nlohmann::json::parse(statistics_json(copy, from)).at("conditions").size() ==
          Origin::kMostConditions);
}

TEST_CASE("rates of nothing are undefined, never 0 and never infinite") {
    const Rates rates = rates_of(Statistics{}, Origin{});
    for (const double rate :
         {rates.prefill_tokens_per_second, rates.decode_tokens_per_second, rates.output_tokens_per_second,
          rates.attainment, rates.goodput_tokens_per_second, rates.smooth_goodput, rates.share_of_read,
          rates.joules, rates.joules_per_token, rates.acceptance_length, rates.prefix_hit_rate})
        CHECK(std::isnan(rate));
    const auto json = nlohmann::json::parse(statistics_json(Statistics{}, Origin{}));
    CHECK(json.at("slo").at("attainment").is_null());
    CHECK(json.at("metrics").at("ttft").at("p99").is_null());
    CHECK(json.at("energy").at("method").is_null());
    CHECK(prometheus_text(Statistics{}, Origin{}).find("nan") == std::string::npos);
}

TEST_CASE("two merged are the sum, and what is taken away again leaves the other") {
    const Statistics one = some_statistics(), two = some_statistics();
    Statistics both;
    both.assign(one);
    both.merge(two);
    CHECK(both.totals.slo_missed == 4);
    CHECK(both.totals.smooth_benefit == Approx(2 * one.totals.smooth_benefit));
    CHECK(both[Series::step_gap].count() == 2 * one[Series::step_gap].count());
    CHECK(both.gauges.n_running == 6);
    CHECK(both.gauges.page_waste == Approx(0.25));
    CHECK(both.seconds() == one.seconds());  // in the same time

    Statistics later;
    later.assign(both);
    later.end_ns += 500 * kMs;
    REQUIRE(later.subtract(one));
    CHECK(later.seconds() == Approx(0.5));
    CHECK(later.totals.slo_missed == 2);
    CHECK(later[Series::itl].sum() == two[Series::itl].sum());
    Statistics wrong;
    wrong.assign(one);
    CHECK_FALSE(wrong.subtract(both));
}

TEST_CASE("statistics survive as bytes, and nothing else does") {
    const Statistics statistics = some_statistics();
    Origin origin{"a \"model\"\n", "7", {R"({"cpu":"none"})"}, {}, false, "", 0, 0};
    origin.read_bytes_per_second = 1e10;
    const std::vector<std::byte> bytes = export_statistics(statistics, origin);
    Statistics copy;
    Origin from;
    REQUIRE(import_statistics(bytes, copy, from).ok());
    CHECK(statistics_json(copy, from) == statistics_json(statistics, origin));
    CHECK(prometheus_text(copy, from) == prometheus_text(statistics, origin));
    for (size_t n = 0; n < bytes.size(); ++n) {
        Statistics cut;
        Origin none;
        REQUIRE_FALSE(import_statistics(std::span(bytes).first(n), cut, none).ok());
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
        std::vector<std::byte> changed = bytes;
        changed[i] ^= std::byte{0x10};
        Statistics other;
        Origin none;
        REQUIRE_FALSE(import_statistics(changed, other, none).ok());
    }
}

}  // namespace takt
