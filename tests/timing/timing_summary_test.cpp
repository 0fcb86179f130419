// The definitions of metrics.md on timelines written by hand and on the given vectors.
#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>
#include <numeric>

#include <nlohmann/json.hpp>

#include "timing/timing_summary.h"

namespace takt {
namespace {

nlohmann::json metric_vectors() {
    std::ifstream file(std::string(TAKT_TEST_DATA_DIR) + "/metric_vectors.json");
    REQUIRE(file.good());
    return nlohmann::json::parse(file);
}

uint64_t to_ns(double seconds) {
    return static_cast<uint64_t>(std::llround(seconds * 1e9));
}

void check_identity(const TimingSummary& summary) {
    CHECK(summary.queue_ns + summary.prefill_ns + summary.decode_ns + summary.finish_ns == summary.e2e_ns);
}

void check_optional(const std::optional<double>& found_ns, const nlohmann::json& wanted_seconds) {
    REQUIRE(found_ns.has_value() == !wanted_seconds.is_null());
    if (found_ns) CHECK(*found_ns == Approx(wanted_seconds.get<double>() * 1e9).epsilon(1e-6));
}

Distribution in_ns(std::vector<double> seconds) {
    for (double& s : seconds) s *= 1e9;
    return summarize(std::move(seconds));
}

void check_distribution(const Distribution& found, const Distribution& wanted) {
    CHECK(found.count == wanted.count);
    if (wanted.count == 0) {
        CHECK((std::isnan(found.p50) && std::isnan(found.p95) && std::isnan(found.p99) &&
               std::isnan(found.max)));
        return;
    }
    CHECK(found.p50 == Approx(wanted.p50));
    CHECK(found.p95 == Approx(wanted.p95));
    CHECK(found.p99 == Approx(wanted.p99));
    CHECK(found.max == Approx(wanted.max));
}

Timeline timeline_of(uint64_t submitted, std::optional<uint64_t> scheduled, std::vector<uint64_t> sampled,
                     std::optional<uint64_t> finished) {
    Timeline timeline;
    timeline.submitted_ns = submitted;
    timeline.scheduled_ns = scheduled;
    timeline.finished_ns = finished;
    for (const uint64_t ns : sampled) timeline.steps.push_back({ns, ns, 0, 1});
    return timeline;
}

}  // namespace

TEST_CASE("the timelines of metric_vectors.json have the values given there") {
    const auto vectors = metric_vectors();
    for (const auto& row : vectors.at("timelines").at("rows")) {
        INFO(row.at("id"));
        const auto& wanted = row.at("expect");
        Timeline timeline =
            timeline_of(to_ns(row.at("arrival")), to_ns(row.at("arrival")), {}, to_ns(wanted.at("e2e")));
        for (const auto& step : row.at("steps")) {
            const uint64_t ns = to_ns(step[0]);
            timeline.steps.push_back({ns, ns, 0, step[1].get<uint32_t>()});
        }
        const TimingSummary summary = summarize_timeline(timeline, 0);
        check_identity(summary);
        CHECK(summary.e2e_ns == to_ns(wanted.at("e2e")));
        CHECK(summary.generated_tokens == row.at("n_out").get<uint64_t>());
        REQUIRE(summary.ttft_ns.has_value() == !wanted.at("ttft").is_null());
        if (summary.ttft_ns) CHECK(*summary.ttft_ns == to_ns(wanted.at("ttft")));
        check_optional(summary.tpot_ns, wanted.at("tpot"));
        if (wanted.contains("tpot_n_minus_1"))
            check_optional(summary.tpot_n1_ns, wanted.at("tpot_n_minus_1"));
        check_distribution(summary.itl_ns, in_ns(wanted.at("itl")));
        check_distribution(summary.step_gap_ns, in_ns(wanted.at("step_gap")));
    }
}

TEST_CASE("percentiles are nearest rank") {
    const auto vectors = metric_vectors().at("percentiles");
    const auto samples = vectors.at("samples").get<std::vector<double>>();
    const auto& wanted = vectors.at("rules").at("nearest_rank (takt exact mode, HdrHistogram)");
    for (const auto& [name, p] :
         {std::pair("p50", 0.5), {"p75", 0.75}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}}) {
        INFO(name);
        CHECK(percentile(samples, p) == wanted.at(name).get<double>());
    }
    std::vector<double> hundred(100);
    std::iota(hundred.begin(), hundred.end(), 1.0);
    for (int percent = 1; percent <= 100; ++percent) CHECK(percentile(hundred, percent / 100.0) == percent);
    CHECK(percentile(hundred, 0) == 1);
    CHECK(std::isnan(percentile({}, 0.5)));
    const Distribution distribution = summarize({3, 1, 2});
    CHECK(distribution.count == 3);
    CHECK(distribution.p50 == 2);
    CHECK(distribution.p99 == 3);
    CHECK(distribution.max == 3);
}

TEST_CASE("a request has its phases however far it came, and they add up") {
    SECTION("still in the queue") {
        const TimingSummary s = summarize_timeline(timeline_of(100, {}, {}, {}), 160);
        check_identity(s);
        CHECK(s.queue_ns == 60);
        CHECK(s.prefill_ns == 0);
        CHECK_FALSE(s.ttft_ns);
        CHECK_FALSE(s.prefill_tokens_per_second);
    }
    SECTION("ended in the queue") {
        const TimingSummary s = summarize_timeline(timeline_of(100, {}, {}, 130), 999);
        check_identity(s);
        CHECK(s.queue_ns == 30);
        CHECK(s.e2e_ns == 30);
    }
    SECTION("in prefill") {
        const TimingSummary s = summarize_timeline(timeline_of(100, 110, {}, {}), 150);
        check_identity(s);
        CHECK(s.queue_ns == 10);
        CHECK(s.prefill_ns == 40);
        CHECK(s.decode_ns == 0);
        CHECK(s.finish_ns == 0);
    }
    SECTION("failed in prefill") {
        const TimingSummary s = summarize_timeline(timeline_of(100, 110, {}, 125), 150);
        check_identity(s);
        CHECK(s.prefill_ns == 15);
        CHECK(s.finish_ns == 0);
    }
    SECTION("decoding") {
        const TimingSummary s = summarize_timeline(timeline_of(100, 110, {150, 160, 175}, {}), 180);
        check_identity(s);
        CHECK(s.prefill_ns == 40);
        CHECK(s.decode_ns == 25);
        CHECK(s.finish_ns == 5);
        CHECK(*s.ttft_ns == 50);
        CHECK(*s.tpot_ns == 12.5);
        CHECK(*s.decode_tokens_per_second == Approx(8e7));
        CHECK(s.step_gap_ns.max == 15);
    }
    SECTION("a clock that went back") {
        const TimingSummary s = summarize_timeline(timeline_of(100, 90, {150, 140, 175}, 120), 0);
        check_identity(s);
        CHECK(s.queue_ns == 0);
        CHECK(s.prefill_ns == 50);
        CHECK(s.decode_ns == 25);
        CHECK(s.finish_ns == 0);
        CHECK(s.step_gap_ns.p50 == 0);
    }
}

TEST_CASE("inter-token latencies add up to the decode time, whatever a step carried") {
    Timeline timeline = timeline_of(0, 0, {}, 1000);
    const uint32_t counts[] = {3, 1, 4, 1, 5, 9};
    uint64_t ns = 100, n = 0;
    for (const uint32_t k : counts) {
        timeline.steps.push_back({ns, ns, 0, k});
        ns += 7 * k + n;
        n += k;
    }
    const TimingSummary s = summarize_timeline(timeline, 0);
    check_identity(s);
    CHECK(s.generated_tokens == 23);
    CHECK(s.itl_ns.count == 20);
    CHECK(s.step_gap_ns.count == 5);
    CHECK(*s.tpot_ns * 20 == Approx(static_cast<double>(s.decode_ns)));
    CHECK(*s.tpot_n1_ns * 22 == Approx(static_cast<double>(s.decode_ns)));
}

TEST_CASE("the prefill rate counts what was computed, without the time spent preempted") {
    Timeline timeline = timeline_of(0, 1'000, {3'001'000}, 3'001'000);
    timeline.prompt_tokens = 100;
    timeline.cached_tokens = 40;
    timeline.computed_tokens = 60;
    timeline.preempted_ns = 1'000'000;
    const TimingSummary s = summarize_timeline(timeline, 0);
    CHECK(s.prefill_ns == 3'000'000);
    CHECK(s.preempted_ns == 1'000'000);
    CHECK(*s.prefill_tokens_per_second == Approx(30'000));
    CHECK_FALSE(s.decode_tokens_per_second);
    CHECK_FALSE(s.tpot_ns);
}

}  // namespace takt
