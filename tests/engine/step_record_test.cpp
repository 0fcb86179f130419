// Every step is told once, with its times, rows and budget, and nothing is held meanwhile.
#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

EngineOptions told(std::vector<StepRecord>& steps) {
    EngineOptions options;
    options.chunk_tokens = 64;
    options.on_step = [&steps](const StepRecord& step) { steps.push_back(step); };
    return options;
}

}  // namespace

TEST_CASE("steps of a request are told with their times and rows") {
    std::vector<StepRecord> steps;
    Fixture fixture(told(steps));
    fixture.script.clock = fixture.manual.get();
    fixture.script.step_ns = 1000;
    fixture.script.row_ns = 10;
    Engine& engine = fixture.start();
    RequestOptions request = prompt_of(100, 3);
    request.ignore_eos = true;
    request.on_event = [&](const Event&) {
        fixture.manual->advance_ns(7);  // a slow reader widens the gap
        return true;
    };
    auto running = engine.submit(request);
    REQUIRE((*running)->wait(UINT64_MAX).ok());
    engine.cancel_all_and_wait();  // the last step is told after its tokens
    REQUIRE(steps.size() == 4);
    const std::vector<uint32_t> prefill = {64, 36, 0, 0}, decode = {0, 0, 1, 1}, tokens = {0, 1, 1, 1};
    for (size_t i = 0; i < 4; ++i) {
        INFO("step " << i);
        CHECK(steps[i].index == i);
        CHECK(steps[i].prefill_rows == prefill[i]);
        CHECK(steps[i].decode_rows == decode[i]);
        CHECK(steps[i].generated_tokens == tokens[i]);
        CHECK(steps[i].end_ns - steps[i].begin_ns == 1000 + 10 * (prefill[i] + decode[i]));
        CHECK(steps[i].n_running == 1);
        CHECK(steps[i].n_waiting == 0);
        CHECK(steps[i].prefill_budget >= steps[i].prefill_rows);
        if (i > 0) CHECK(steps[i].begin_ns - steps[i - 1].end_ns == steps[i].gap_ns);
    }
    CHECK(steps[0].gap_ns == UINT64_MAX);
    CHECK(steps[1].gap_ns == 0);
    CHECK(steps[2].gap_ns == 7);
    CHECK(steps[0].prefill_budget == 64);
    CHECK((*running)->timeline().steps[1].computed_ns == steps[2].end_ns);
}

TEST_CASE("a prompt that joins has as many rows as its budget, and those of evaluations are told too") {
    std::vector<StepRecord> steps;
    Fixture fixture(told(steps));
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    RequestOptions first = prompt_of(4, 60), second = prompt_of(90, 2, 5);
    first.ignore_eos = second.ignore_eos = true;
    auto one = engine.submit(first);
    gate.wait_for_arrivals(1);
    auto two = engine.submit(second);
    gate.open();
    REQUIRE((*one)->wait(UINT64_MAX).ok());
    REQUIRE((*two)->wait(UINT64_MAX).ok());
    engine.cancel_all_and_wait();
    uint64_t n_rows = 0;
    for (const StepRecord& step : steps) {
        if (step.decode_rows == 0 || step.prefill_rows == 0) continue;
        CHECK(step.prefill_rows <= step.prefill_budget);
        CHECK(step.prefill_budget <= 63);
        CHECK(step.n_running == 2);
        n_rows += step.prefill_rows;
    }
    CHECK(n_rows == 90);
    CHECK(engine.statistics().n_steps == steps.size());
    const size_t before = steps.size();
    const std::vector<int32_t> ids(50, 3);
    REQUIRE(engine.evaluate(ids, 49, 20, [](size_t, std::span<const float>) { return true; }).ok());
    engine.cancel_all_and_wait();
    REQUIRE(steps.size() == before + 3);
    CHECK(steps.back().prefill_rows == 10);
    CHECK(steps.back().index == before + 2);
}

TEST_CASE("inside the step callback requests may be made, and calls that wait are refused") {
    Engine* engine = nullptr;
    std::unique_ptr<Request> second;
    StatusCode waited = StatusCode::ok;
    EngineOptions options;
    options.on_step = [&](const StepRecord&) {
        if (second) return;
        second = std::move(*engine->submit(prompt_of(3, 2)));
        waited = second->wait(UINT64_MAX).code();
    };
    Fixture fixture(options);
    Gate gate;
    fixture.hold_steps(gate);
    engine = &fixture.start();
    auto first = engine->submit(prompt_of(3, 2));
    gate.open();
    REQUIRE((*first)->wait(UINT64_MAX).ok());
    while (engine->statistics().n_waiting + engine->statistics().n_running > 0) std::this_thread::yield();
    engine->cancel_all_and_wait();
    REQUIRE(second);
    CHECK(second->wait(UINT64_MAX).ok());
    CHECK(waited == StatusCode::invalid_state);
}

TEST_CASE("a step callback that throws is called no more, and the request goes on") {
    int n_calls = 0;
    EngineOptions options;
    options.on_step = [&](const StepRecord&) {
        ++n_calls;
        throw std::runtime_error("enough");
    };
    Fixture fixture(options);
    const Heard heard = run(fixture.start(), prompt_of(5, 6));
    fixture.engine->cancel_all_and_wait();
    CHECK(heard.status == StatusCode::ok);
    CHECK(n_calls == 1);
}

}  // namespace takt
