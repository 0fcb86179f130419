// Promises against the vectors of metric_vectors.json and metrics.md's table.
#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "timing/slo.h"

namespace takt {
namespace {

nlohmann::json vectors() {
    std::ifstream file(std::string(TAKT_TEST_DATA_DIR) + "/metric_vectors.json");
    REQUIRE(file.good());
    return nlohmann::json::parse(file);
}

uint64_t to_ns(double seconds) {
    return static_cast<uint64_t>(std::llround(seconds * 1e9));
}

Timeline timeline_of(const nlohmann::json& request) {
    Timeline timeline;
    timeline.submitted_ns = to_ns(request.at("arrival"));
    timeline.scheduled_ns = timeline.submitted_ns;
    for (const double t : request.at("t")) timeline.steps.push_back({to_ns(t), to_ns(t), 0, 1});
    timeline.finished_ns = timeline.steps.back().sampled_ns;
    return timeline;
}

Timeline tokens_at(std::vector<uint64_t> ms) {
    Timeline timeline;
    timeline.scheduled_ns = 0;
    for (const uint64_t t : ms) timeline.steps.push_back({t * 1'000'000, t * 1'000'000, 0, 1});
    return timeline;
}

double benefit(const Timeline& timeline, uint64_t ended_ms, bool unfinished, const SmoothRule& rule = {}) {
    uint64_t n = 0;
    for (const StepStamp& step : timeline.steps) n += step.n_tokens;
    return smooth_benefit(n, idle_latency(timeline, ended_ms * 1'000'000, unfinished, rule), rule);
}

}  // namespace

TEST_CASE("presets are those of metric_vectors.json") {
    const auto wanted = vectors().at("slo_presets");
    REQUIRE(slo_presets().size() == wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
        const SloPreset& preset = slo_presets()[i];
        INFO(preset.name);
        CHECK(preset.name == wanted[i].at("name").get<std::string>());
        CHECK(preset.percentile == wanted[i].at("percentile").get<double>());
        CHECK(preset.slo.ttft_ns == to_ns(wanted[i].value("ttft_s", 0.0)));
        CHECK(preset.slo.tpot_ns == to_ns(wanted[i].value("tpot_s", 0.0)));
        CHECK(preset.slo.itl_ns == to_ns(wanted[i].value("itl_s", 0.0)));
        CHECK(preset.slo.e2e_ns == to_ns(wanted[i].value("e2e_s", 0.0)));
    }
}

TEST_CASE("the goodput vectors: latency, benefit, attainment, goodput in tokens, smooth goodput") {
    const auto v = vectors().at("goodput");
    const double total = v.at("params").at("T"), per_token = v.at("params").at("V_seconds_per_token");
    const SmoothRule rule{per_token, v.at("params").at("alpha_tokens_per_second"), false};
    double smooth = 0, good_tokens = 0, good = 0;
    std::vector<std::string> kept;
    Slo slo;
    slo.ttft_ns = to_ns(v.at("vllm_style").at("slo").at("ttft"));
    slo.tpot_ns = to_ns(v.at("vllm_style").at("slo").at("tpot"));
    for (const auto& request : v.at("requests")) {
        INFO(request.at("id"));
        const Timeline timeline = timeline_of(request);
        const double late = idle_latency(timeline, *timeline.finished_ns, false, rule);
        CHECK(late == Approx(request.at("l_r").get<double>()));
        const auto n = timeline.steps.size();
        CHECK(smooth_benefit(n, late, rule) == Approx(request.at("benefit").get<double>()));
        smooth += smooth_benefit(n, late, rule);
        CHECK((late <= 1e-12) == request.at("meets_eq1").get<bool>());
        if (late <= 1e-12) {
            good += 1;
            good_tokens += static_cast<double>(n);
        }
        const uint32_t broken = broken_bounds(summarize_phases(timeline, 0), slo, false);
        if (judge(broken, slo, RequestOutcome::ok) == SloVerdict::good) kept.push_back(request.at("id"));
    }
    const auto& wanted = v.at("expect");
    CHECK(smooth / total == Approx(wanted.at("smooth_goodput").get<double>()));
    CHECK(good_tokens / total == Approx(wanted.at("goodput_tokens_per_s_eq7").get<double>()));
    CHECK(good / static_cast<double>(v.at("requests").size()) ==
          Approx(wanted.at("slo_attainment_eq6").get<double>()));
    CHECK(kept == v.at("vllm_style").at("expect_good").get<std::vector<std::string>>());
}

TEST_CASE("percentile rules are those of metric_vectors.json") {
    const auto v = vectors().at("percentiles");
    const auto samples = v.at("samples").get<std::vector<double>>();
    const std::pair<const char*, PercentileRule> rules[] = {
        {"nearest_rank (takt exact mode, HdrHistogram)", PercentileRule::nearest_rank},
        {"loadgen sorted[floor(n*p)]", PercentileRule::loadgen},
        {"numpy linear (vLLM bench, aiperf)", PercentileRule::linear},
    };
    for (const auto& [name, rule] : rules) {
        for (const auto& [p, value] : v.at("rules").at(name).items()) {
            INFO(name << " " << p);
            CHECK(percentile(samples, std::stod(p.substr(1)) / 100, rule) == Approx(value.get<double>()));
        }
    }
    const double infinite[] = {1, 2, INFINITY, INFINITY};
    CHECK(percentile(infinite, 0.5, PercentileRule::linear) == INFINITY);
    CHECK(percentile(infinite, 1, PercentileRule::linear) == INFINITY);
    CHECK(percentile(infinite, 0.5) == 2);
    const double both[] = {-INFINITY, 1, INFINITY};
    CHECK(percentile(both, 0.25, PercentileRule::linear) == -INFINITY);
    CHECK(percentile(both, 0.75, PercentileRule::linear) == INFINITY);
}

TEST_CASE("a value at its bound keeps it, one nanosecond more breaks it") {
    const TimingSummary s = summarize_phases(tokens_at({100, 110, 140}), 150'000'000);
    const Slo kept{100'000'000, 20'000'000, 30'000'000, 150'000'000};
    CHECK(broken_bounds(s, kept, false) == 0);
    CHECK(judge(0, kept, RequestOutcome::ok) == SloVerdict::good);
    const Slo broken{99'999'999, 19'999'999, 29'999'999, 149'999'999};
    CHECK(broken_bounds(s, broken, false) == 15);
    CHECK(judge(15, broken, RequestOutcome::ok) == SloVerdict::missed);
}

TEST_CASE("what isn't defined keeps its bound, and a request without bounds isn't judged") {
    const Slo slo{50, 1, 1, 0};
    Timeline one;
    one.scheduled_ns = 0;
    one.steps.push_back({40, 40, 0, 1});
    CHECK(broken_bounds(summarize_phases(one, 45), slo, false) == 0);
    Timeline none;
    none.scheduled_ns = 0;
    CHECK(broken_bounds(summarize_phases(none, 900), slo, false) == 0);
    CHECK(judge(0, slo, RequestOutcome::ok) == SloVerdict::good);
    CHECK(judge(0, Slo{}, RequestOutcome::ok) == SloVerdict::not_judged);
    CHECK(judge(0, Slo{}, RequestOutcome::failed) == SloVerdict::not_judged);
}

TEST_CASE("who goes away in time isn't judged, who had waited too long has been let down") {
    const Slo slo{100'000'000, 0, 50'000'000, 0};
    const Timeline waiting = tokens_at({});
    CHECK(broken_bounds(summarize_phases(waiting, 100'000'000), slo, true) == 0);
    CHECK(broken_bounds(summarize_phases(waiting, 100'000'001), slo, true) == bit(Bound::ttft));
    const Timeline stalled = tokens_at({10, 20});
    CHECK(broken_bounds(summarize_phases(stalled, 70'000'000), slo, true) == 0);
    CHECK(broken_bounds(summarize_phases(stalled, 70'000'001), slo, true) == bit(Bound::itl));
    CHECK(judge(0, slo, RequestOutcome::cancelled) == SloVerdict::not_judged);
    CHECK(judge(bit(Bound::ttft), slo, RequestOutcome::cancelled) == SloVerdict::missed);
    CHECK(judge(0, slo, RequestOutcome::failed) == SloVerdict::missed);
}

TEST_CASE("holding tokens back never raises the smooth goodput") {
    const std::vector<uint64_t> natural = {50, 120, 300, 310, 900, 950, 1400};
    const double whole = benefit(tokens_at(natural), 1400, false);
    for (size_t from = 0; from < natural.size(); ++from) {
        for (const uint64_t delay : {1, 50, 400, 3000}) {
            std::vector<uint64_t> held = natural;
            for (size_t i = from; i < held.size(); ++i) held[i] += delay;
            CHECK(benefit(tokens_at(held), held.back(), false) <= whole);
        }
    }
}

TEST_CASE("dropping a late request never raises the smooth goodput") {
    // Nothing came for four seconds; the rest would come as fast as it is read.
    const std::vector<uint64_t> served = {100, 4200, 4400, 4600, 4800};
    const double whole = benefit(tokens_at(served), 4800, false);
    CHECK(benefit(tokens_at({100}), 4200, true) <= whole);
    CHECK(benefit(tokens_at({100, 4200}), 4200, true) <= whole);
    // One that never had a token costs what its wait does, however it ended.
    CHECK(benefit(tokens_at({}), 3200, true) == Approx(-7.5));
    CHECK(benefit(tokens_at({}), 3200, false) == Approx(-7.5));
    CHECK(benefit(tokens_at({}), 100, true) == 0);
}

TEST_CASE("tokens are due from the first one on where that is asked for") {
    const SmoothRule rule{0.2, 2.5, true};
    const Timeline timeline = tokens_at({5000, 5200, 5700});
    CHECK(idle_latency(timeline, 5'700'000'000, false, rule) == Approx(0.3));
    CHECK(idle_latency(timeline, 5'700'000'000, false, SmoothRule{}) == Approx(5.1));
}

TEST_CASE("Wilson's interval") {
    CHECK(std::isnan(wilson_interval(0, 0).low));
    const Interval half = wilson_interval(50, 100);
    CHECK(half.low == Approx(0.4038).margin(5e-5));
    CHECK(half.high == Approx(0.5962).margin(5e-5));
    const Interval all = wilson_interval(20, 20);
    CHECK(all.low == Approx(0.8389).margin(5e-5));
    CHECK(all.high == 1);
    CHECK(wilson_interval(0, 20).low == 0);
    CHECK(wilson_interval(0, 20).high == Approx(0.1611).margin(5e-5));
}

}  // namespace takt
