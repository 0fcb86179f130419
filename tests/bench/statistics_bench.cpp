// What the counters cost: all that is recorded of a decode step of some requests, and of a request that ends,
// on one thread. Not part of the suite; tests/promises/time.py sets it against a real step.
//   statistics_bench [requests]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/gap_keeper.h"
#include "engine/slo_watch.h"
#include "engine/statistics_board.h"
#include "engine/step_trace.h"
#include "program/step_cost.h"
#include "small_program.h"

using namespace takt;

namespace {

constexpr uint32_t kTokens = 256, kRounds = 400;

double now_ns() {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The median over rounds of what a call takes, divided among n.
template <typename Body>
double median_ns(uint32_t n, Body body) {
    std::vector<double> times;
    for (uint32_t round = 0; round < kRounds; ++round) {
        const double begin = now_ns();
        body(round);
        times.push_back((now_ns() - begin) / n);
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

std::unique_ptr<RunningRequest> request_of(uint64_t number, std::shared_ptr<const Clock> clock) {
    RequestOptions options;
    options.prompt_ids = {1, 2, 3};
    options.max_tokens = kTokens * 2;
    options.slo = Slo{UINT64_MAX / 2, UINT64_MAX / 2, UINT64_MAX / 2, UINT64_MAX / 2};
    const Slo slo = *options.slo;
    RequestState::Shared shared{std::move(clock),
                                std::make_shared<CallbackThreads>(),
                                std::make_shared<WorkerSignal>(),
                                "",
                                number,
                                slo};
    auto state = std::make_shared<RequestState>(std::move(options), std::move(shared), 0, kTokens * 2);
    auto request = std::make_unique<RunningRequest>(std::move(state), number, 3 + kTokens * 2, 32, nullptr,
                                                    nullptr, nullptr);
    request->n_rows = 1;
    request->tokens.push_back(5);
    request->n_computed = 3;
    return request;
}

Timeline timeline_of_tokens() {
    Timeline timeline;
    timeline.scheduled_ns = 10;
    for (uint64_t i = 0; i < kTokens; ++i)
        timeline.steps.push_back({i * 5'000'000, i * 5'003'000 + i * i, 0, 1});
    return timeline;
}

}  // namespace

int main(int argc, char** argv) {
    const uint32_t n_requests = argc > 1 ? static_cast<uint32_t>(std::max(1, std::atoi(argv[1]))) : 1;
    const auto clock = std::make_shared<SteadyClock>();
    std::vector<std::unique_ptr<RunningRequest>> running;
    for (uint32_t i = 0; i < n_requests; ++i) running.push_back(request_of(i + 1, clock));
    const Result<Program> program = test::small_program();
    const StepCostTable costs(
        *program, [](WeightId) { return uint64_t{1000}; }, [](uint64_t n_values) { return 2 * n_values; });
    StepCosts step_costs;
    step_costs.record(n_requests, 3'000'000);
    StatisticsBoard board(0, {});
    GapKeeper gaps;
    const Logger logger;
    Listener<SloMiss> nobody("SLO", {}, {}, logger, *clock);
    SloWatch watch(nobody);
    Totals totals;
    const Gauges gauges;
    uint64_t sampled_ns = clock->now_ns();
    const double step_ns = median_ns(1, [&](uint32_t) {
        const uint64_t asked = clock->now_ns(), begin = clock->now_ns(), end = clock->now_ns();
        gaps.in_other_engines(begin - asked);
        gaps.in_step(running, end - begin, n_requests, 0, step_costs);
        StepCostTable::Cost cost;
        for (uint32_t i = 0; i < n_requests; ++i) costs.add_rows({1, 700, 1}, cost);
        costs.add_weights(true, cost);
        totals.read_bytes += cost.read_bytes;
        totals.step_ns += end - begin;
        board.record_step(n_requests);
        sampled_ns += 3'000'000;
        for (const std::unique_ptr<RunningRequest>& request : running) {
            const GapParts gap = gaps.close(*request, sampled_ns);
            gaps.in_callbacks(clock->now_ns() - clock->now_ns());  // around a callback
            gaps.in_callbacks(watch.tokens_came(*request, gap.total_ns, 1, sampled_ns));
        }
        for (int i = 0; i < 3; ++i) board.publish(totals, gauges);
    });
    const Timeline timeline = timeline_of_tokens();
    const Slo slo{1, 2, 3, 4};
    const double token_ns = median_ns(kTokens, [&](uint32_t) {
        const uint64_t ended_ns = kTokens * 5'100'000ull;
        const TimingSummary summary = summarize_phases(timeline, ended_ns);
        board.record({timeline, summary, FinishReason::length, slo, ended_ns, false});
    });
    Histogram histogram;
    const double record_ns = median_ns(1000, [&](uint32_t round) {
        for (uint64_t i = 0; i < 1000; ++i) histogram.record(1'000'000 + i * 977 * (round + 1));
    });
    fmt::print(
        "{{\"requests\":{},\"step_ns\":{:.1f},\"ended_ns_per_token\":{:.2f},\"histogram_record_ns\":{:.2f}}}"
        "\n",
        n_requests, step_ns, token_ns, record_ns);
    return histogram.count() == 0;
}
