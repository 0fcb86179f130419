// A simulated engine against stamps calculated by hand, and against queueing theory where requests come at
// random.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "engine/simulation.h"
#include "engine_fixture.h"
#include "timing/timing_summary.h"

using namespace takt;
using namespace takt::test;

namespace {

// decode(1) = 10, decode(2) = 14; prefill(n) = 5 n + 5.
MeasuredStepCosts small_costs() {
    return {{{1, 10}, {2, 14}}, {{9, 50}}};
}

struct Ended {
    Timeline timeline;
    FinishReason reason;
    TimingSummary summary;
};

std::map<size_t, Ended> run_all(const std::vector<SimulatedRequest>& requests, const MeasuredStepCosts& costs,
                                const EngineOptions& options = {},
                                const std::shared_ptr<const Model>& model = tiny_llama()) {
    std::map<size_t, Ended> ended;
    const Status status = simulate(model, options, costs, requests, [&](const SimulatedEnd& end) {
        CHECK(ended.count(end.index) == 0);
        ended[end.index] = {end.timeline, end.reason,
                            summarize_timeline(end.timeline, end.timeline.finished_ns.value())};
        return true;
    });
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(ended.size() == requests.size());
    for (const auto& [index, one] : ended) check_identity(one.summary);
    return ended;
}

std::vector<uint64_t> token_times(const Timeline& timeline) {
    std::vector<uint64_t> times;
    for (const StepStamp& step : timeline.steps) times.push_back(step.sampled_ns);
    return times;
}

// Gaps of a Poisson process, in whole ns.
std::vector<SimulatedRequest> poisson(size_t n, double mean_gap_ns, uint32_t prompt_tokens,
                                      uint32_t output_tokens) {
    std::mt19937_64 random(11);
    std::vector<SimulatedRequest> requests;
    double now_ns = 0;
    for (size_t i = 0; i < n; ++i) {
        now_ns -= mean_gap_ns * std::log1p(-std::generate_canonical<double, 53>(random));
        requests.push_back({static_cast<uint64_t>(now_ns), prompt_tokens, output_tokens});
    }
    return requests;
}

Status refusal(const std::vector<SimulatedRequest>& requests, const MeasuredStepCosts& costs,
               const EngineOptions& options = {}) {
    return simulate(tiny_llama(), options, costs, requests, [](const SimulatedEnd&) { return true; });
}

bool refuses(const Status& status, StatusCode code, std::string_view words) {
    INFO(status.message());
    return status.code() == code && status.message().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("one simulated request takes its prefill step and a decode step a token") {
    const auto ended = run_all({{100, 9, 3}}, small_costs());
    const Ended& one = ended.at(0);
    CHECK(one.reason == FinishReason::length);
    CHECK(token_times(one.timeline) == std::vector<uint64_t>{150, 160, 170});
    CHECK(one.summary.queue_ns == 0);
    CHECK(one.summary.ttft_ns == 50);
    CHECK(one.summary.tpot_ns == 10);
    CHECK(one.summary.e2e_ns == 70);
    CHECK(one.summary.prompt_tokens == 9);
    CHECK(one.summary.generated_tokens == 3);
}

TEST_CASE("a request that comes during a step joins the next one") {
    // The joint step has 4 rows of which 2 give a token: 14 + 25 - 15 = 24.
    const auto ended = run_all({{0, 9, 4}, {55, 3, 2}}, small_costs());
    CHECK(token_times(ended.at(0).timeline) == std::vector<uint64_t>{50, 60, 84, 98});
    CHECK(token_times(ended.at(1).timeline) == std::vector<uint64_t>{84, 98});
    CHECK(ended.at(1).timeline.scheduled_ns == 60);
    CHECK(ended.at(1).summary.queue_ns == 5);
    CHECK(ended.at(1).summary.ttft_ns == 29);
}

TEST_CASE("a prompt longer than a chunk takes several steps, and positions cost what they cost") {
    EngineOptions options;
    options.chunk_tokens = 4;
    MeasuredStepCosts costs = small_costs();
    costs.decode_position_ns = 2;
    costs.prefill_position_ns = 1;
    // 4 rows at 0…3, none gives a token: 25 + 6. 2 rows at 4 and 5: 10 + 15 - 10 + 4 + 2 x 5. Then 1 at 6.
    const auto ended = run_all({{0, 6, 2}}, costs, options);
    CHECK(token_times(ended.at(0).timeline) == std::vector<uint64_t>{60, 82});
}

TEST_CASE("costs between and beyond the measured steps") {
    const Result<StepCostModel> model = StepCostModel::create({{{2, 100}, {4, 140}}, {{8, 180}, {16, 260}}});
    REQUIRE(model.ok());
    CHECK(model->step_ns({1, 1, 0, 0}) == 100);
    CHECK(model->step_ns({3, 3, 0, 0}) == 120);
    CHECK(model->step_ns({8, 1, 0, 0}) == 180);
    CHECK(model->step_ns({12, 0, 0, 0}) == 220);
    CHECK(model->step_ns({32, 0, 0, 0}) == 420);
    // decode(6) = 140 + prefill(6) - prefill(4); prefill(n) = 100 + 80 / 7 (n - 1) up to 8 rows.
    CHECK(model->step_ns({6, 6, 0, 0}) == Approx(140 + 160.0 / 7));
    CHECK(model->step_ns({16, 4, 0, 0}) == Approx(140 + 260 - (100 + 240.0 / 7)));
    // A measurement that falls doesn't make rows come for nothing.
    const Result<StepCostModel> falling = StepCostModel::create({{{1, 100}}, {{1, 100}, {8, 80}}});
    REQUIRE(falling.ok());
    CHECK(falling->step_ns({8, 1, 0, 0}) == 100);
    CHECK(falling->step_ns({64, 0, 0, 0}) == 80);
}

TEST_CASE("one after another is a queue with one server and a fixed service time") {
    EngineOptions options;
    options.max_sequences = 1;
    options.max_waiting = 100000;
    constexpr uint64_t kService = 5000 + 1000;  // prefill of 9 rows, one decode step
    const MeasuredStepCosts costs{{{1, 1000}}, {{9, 5000}}};
    constexpr double kLoad = 0.7;
    const std::vector<SimulatedRequest> requests = poisson(20000, kService / kLoad, 9, 2);
    const auto ended = run_all(requests, costs, options);
    uint64_t free_ns = 0;
    double wait_ns = 0;
    size_t n_wrong = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
        const uint64_t begin = std::max(free_ns, requests[i].arrival_ns);
        free_ns = begin + kService;
        wait_ns += static_cast<double>(begin - requests[i].arrival_ns);
        const Ended& one = ended.at(i);
        if (one.timeline.scheduled_ns != begin || one.timeline.finished_ns != free_ns) ++n_wrong;
    }
    CHECK(n_wrong == 0);
    // Pollaczek-Khinchine; the mean of 20,000 dependent waits strays by a few percent.
    const double expected = kLoad * kService / (2 * (1 - kLoad));
    CHECK(wait_ns / static_cast<double>(requests.size()) == Approx(expected).epsilon(0.08));
}

TEST_CASE("the same requests end at the same times, in every family") {
    EngineOptions options;
    options.max_sequences = 4;
    options.context_tokens = 128;
    options.kv_tokens = 128;  // pages run out
    const MeasuredStepCosts costs{{{1, 1000}, {4, 1600}}, {{64, 9000}}, 0.25, 0.1};
    for (const auto& model : {tiny_llama(), tiny_gemma()}) {
        const auto requests = poisson(1000, 9000, 20, 90);
        const auto first = run_all(requests, costs, options, model);
        const auto again = run_all(requests, costs, options, model);
        uint64_t n_preemptions = 0;
        for (size_t i = 0; i < requests.size(); ++i) {
            n_preemptions += first.at(i).timeline.n_preemptions;
            REQUIRE(token_times(first.at(i).timeline) == token_times(again.at(i).timeline));
            REQUIRE(first.at(i).summary.generated_tokens == 90);
            REQUIRE(first.at(i).summary.cached_tokens <= first.at(i).summary.prompt_tokens);
        }
        CHECK(n_preemptions > 0);
    }
}

TEST_CASE("simulated prompts share nothing") {
    const MeasuredStepCosts costs{{{1, 1000}}, {{64, 9000}}};
    const auto ended = run_all(poisson(1500, 20000, 48, 4), costs);
    for (const auto& [index, one] : ended) REQUIRE(one.summary.cached_tokens == 0);
}

TEST_CASE("who finds the queue full, and who fills the context") {
    EngineOptions options;
    options.max_sequences = options.max_waiting = 1;
    options.context_tokens = 16;
    const auto ended = run_all({{0, 9, 2}, {0, 9, 100}, {0, 9, 2}}, small_costs(), options);
    CHECK(ended.at(0).reason == FinishReason::length);
    CHECK(ended.at(1).reason == FinishReason::context_full);
    CHECK(ended.at(1).summary.generated_tokens == 7);
    CHECK(ended.at(2).reason == FinishReason::error);
    CHECK_FALSE(ended.at(2).timeline.scheduled_ns);
    CHECK(ended.at(2).summary.e2e_ns == 0);
}

TEST_CASE("steps of a simulation are told with simulated times") {
    EngineOptions options;
    std::vector<StepRecord> steps;
    options.on_step = [&](const StepRecord& step) { steps.push_back(step); };
    run_all({{100, 9, 2}}, small_costs(), options);
    REQUIRE(steps.size() == 2);
    CHECK((steps[0].begin_ns == 100 && steps[0].end_ns == 150 && steps[0].prefill_rows == 9));
    CHECK((steps[1].begin_ns == 150 && steps[1].end_ns == 160 && steps[1].decode_rows == 1));
}

TEST_CASE("a simulation is stopped by its reader, while others run and wait") {
    size_t n_ended = 0;
    const std::vector<SimulatedRequest> requests = poisson(100, 10, 9, 20);
    const Status status = simulate(tiny_llama(), {}, small_costs(), requests,
                                   [&](const SimulatedEnd&) { return ++n_ended < 3; });
    CHECK(refuses(status, StatusCode::cancelled, "stopped"));
    CHECK(n_ended == 3);
}

TEST_CASE("what can't be simulated is refused by name and value") {
    const MeasuredStepCosts fine = small_costs();
    const auto with = [&](auto change) {
        MeasuredStepCosts costs = fine;
        change(costs);
        return refusal({{0, 1, 1}}, costs);
    };
    constexpr auto kInvalid = StatusCode::invalid_argument;
    CHECK(refusal({}, fine).ok());
    CHECK(refuses(refusal({{0, 0, 1}}, fine), kInvalid, "requests[0].prompt_tokens is 0"));
    CHECK(refuses(refusal({{0, 1, 1}, {0, 1, 0}}, fine), kInvalid, "requests[1].output_tokens is 0"));
    CHECK(refuses(refusal({{10, 1, 1}, {9, 1, 1}}, fine), kInvalid, "requests[1].arrival_ns is 9, before"));
    CHECK(refuses(refusal({{UINT64_MAX, 1, 1}}, fine), kInvalid, "18446744073709551615"));
    CHECK(refuses(refusal({{0, 4096, 1}}, fine, {}), StatusCode::prompt_too_long, "prompt_tokens is 4096"));
    CHECK(refuses(with([](MeasuredStepCosts& c) { c.decode.clear(); }), kInvalid, "decode is empty"));
    CHECK(refuses(with([](MeasuredStepCosts& c) { c.prefill.clear(); }), kInvalid, "prefill is empty"));
    CHECK(refuses(with([](MeasuredStepCosts& c) { c.decode[0].n_rows = 0; }), kInvalid,
                  "decode[0].n_rows is 0"));
    CHECK(refuses(with([](MeasuredStepCosts& c) { c.decode[1].n_rows = 1; }), kInvalid,
                  "decode[1].n_rows is 1"));
    for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e16}) {
        CHECK(refuses(with([&](MeasuredStepCosts& c) { c.decode[1].step_ns = bad; }), kInvalid,
                      "decode[1].step_ns"));
        CHECK(refuses(with([&](MeasuredStepCosts& c) { c.prefill[0].step_ns = bad; }), kInvalid,
                      "prefill[0].step_ns"));
        if (bad != 0.0)
            CHECK(refuses(with([&](MeasuredStepCosts& c) { c.decode_position_ns = bad; }), kInvalid,
                          "decode_position_ns is"));
    }
    EngineOptions options;
    options.max_sequences = 1 << 20;
    CHECK(refuses(refusal({{0, 1, 1}}, fine, options), kInvalid, "max_sequences is 1048576"));
    options = {};
    options.draft_model = tiny_llama();
    CHECK(refuses(refusal({{0, 1, 1}}, fine, options), kInvalid, "draft_model"));
}

TEST_CASE("a simulation whose clock would run out says so") {
    const MeasuredStepCosts costs{{{1, 1e15}}, {{64, 1e15}}, 1e15, 1e15};
    std::vector<SimulatedRequest> requests(8, {0, 60, 60});
    CHECK(refuses(refusal(requests, costs), StatusCode::invalid_argument, "last moment"));
}
