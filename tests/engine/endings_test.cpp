// Cancels, deadlines, failures and destroyed handles: every request ends once, says why, and leaves the
// engine running.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

constexpr uint32_t kMany = 200;  // tokens that no test waits for

RequestOptions long_request() {
    RequestOptions options = prompt_of(8, kMany);
    options.ignore_eos = true;
    return options;
}

}  // namespace

TEST_CASE("a callback that says stop ends its request with that token") {
    Fixture fixture;
    fixture.script.before_run = [](const StepBatch&) {
        Fixture::take_a_while();
        return Status();
    };
    Engine& engine = fixture.start();
    SECTION("on the worker") {
        Heard heard;
        RequestOptions options = long_request();
        options.on_event = [&](const Event& event) {
            heard.hear(event);
            return heard.ids.size() < 3;
        };
        auto request = engine.submit(std::move(options));
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        CHECK(heard.ids.size() == 3);
        CHECK(heard.reason == FinishReason::cancelled);
        CHECK(heard.n_finished == 1);
        CHECK((*request)->status().ok());
        check_identity((*request)->timing());
    }
    SECTION("on the caller's thread") {
        Heard heard;
        RequestOptions options = long_request();
        const auto caller = std::this_thread::get_id();
        options.on_event = [&](const Event& event) {
            CHECK(std::this_thread::get_id() == caller);
            heard.hear(event);
            return heard.ids.size() < 3;
        };
        auto request = engine.generate(std::move(options));
        REQUIRE(request.ok());
        CHECK(heard.ids.size() == 3);
        CHECK(heard.reason == FinishReason::cancelled);
        CHECK(heard.n_finished == 1);
    }
    CHECK(run(engine, prompt_of(4, 4)).ids.size() == 4);
}

TEST_CASE("a cancel takes effect within a step, wherever the request is") {
    EngineOptions options;
    options.max_sequences = 1;
    options.chunk_tokens = 4;
    Fixture fixture(options);
    Gate gate;
    std::atomic<int> n_steps = 0;
    fixture.script.before_run = [&](const StepBatch&) {
        ++n_steps;
        gate.pass();
        return Status();
    };
    Engine& engine = fixture.start();
    SECTION("in prefill") {
        Heard heard;
        auto request = submit(engine, prompt_of(100, 5), heard);
        gate.wait_for_arrivals(1);
        (*request)->cancel();
        gate.open();
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        CHECK(n_steps == 1);
        CHECK(heard.ids.empty());
        CHECK(heard.reason == FinishReason::cancelled);
        const TimingSummary timing = (*request)->timing();
        CHECK_FALSE(timing.ttft_ns);
        check_identity(timing);
    }
    SECTION("in the queue") {
        Heard first_heard, heard;
        auto first = submit(engine, prompt_of(4, 2), first_heard);
        gate.wait_for_arrivals(1);
        auto waiting = submit(engine, prompt_of(4, 2), heard);
        (*waiting)->cancel();
        gate.open();
        REQUIRE((*waiting)->wait(UINT64_MAX).ok());
        CHECK(heard.reason == FinishReason::cancelled);
        CHECK(heard.events.back().scheduled_ns == UINT64_MAX);
        REQUIRE((*first)->wait(UINT64_MAX).ok());
        CHECK(first_heard.ids.size() == 2);
        CHECK(n_steps == 2);
    }
    SECTION("while it decodes") {
        Heard heard;
        auto request = submit(engine, prompt_of(4, kMany), heard);
        gate.open();
        gate.wait_for_arrivals(5);
        (*request)->cancel();
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        CHECK(heard.n_finished == 1);
        CHECK((heard.reason == FinishReason::cancelled || heard.ids.size() == kMany));
    }
}

TEST_CASE("a deadline ends a request between two steps") {
    EngineOptions options;
    options.max_sequences = 1;
    Fixture fixture(options);
    fixture.script.clock = fixture.manual.get();
    fixture.script.step_ns = 100;
    Engine& engine = fixture.start();
    SECTION("while it runs") {
        RequestOptions request = long_request();
        request.deadline_ns = fixture.manual->now_ns() + 350;
        const Heard heard = run(engine, request);
        CHECK(heard.ids.size() == 4);  // the step that began before the deadline counts
        CHECK(heard.reason == FinishReason::deadline);
        CHECK(heard.status == StatusCode::ok);
    }
    SECTION("before it runs") {
        RequestOptions request = long_request();
        request.deadline_ns = fixture.manual->now_ns();
        const Heard heard = run(engine, request);
        CHECK(heard.ids.empty());
        CHECK(heard.reason == FinishReason::deadline);
        CHECK(heard.events.back().scheduled_ns == UINT64_MAX);
    }
    SECTION("in the queue") {
        Gate gate;
        fixture.hold_steps(gate);
        Heard first_heard, heard;
        auto first = submit(engine, prompt_of(4, 10), first_heard);
        gate.wait_for_arrivals(1);
        RequestOptions request = long_request();
        request.deadline_ns = fixture.manual->now_ns() + 250;
        auto waiting = submit(engine, request, heard);
        gate.open();
        REQUIRE((*waiting)->wait(UINT64_MAX).ok());
        CHECK(heard.reason == FinishReason::deadline);
        CHECK((*waiting)->timing().queue_ns == 300);
        REQUIRE((*first)->wait(UINT64_MAX).ok());
        CHECK(first_heard.ids.size() == 10);
    }
}

TEST_CASE("a step that fails ends the requests in it with its sentence, and the engine lives") {
    Fixture fixture;
    std::atomic<int> n_steps = 0;
    int mode = GENERATE(0, 1, 2);
    fixture.script.before_run = [&](const StepBatch&) -> Status {
        if (++n_steps != 3) return {};
        if (mode == 0) return Status(StatusCode::device_failed, "The device is gone.");
        if (mode == 1) throw std::bad_alloc();
        throw std::runtime_error("surprise");
    };
    Engine& engine = fixture.start();
    const StatusCode wanted[] = {StatusCode::device_failed, StatusCode::out_of_memory, StatusCode::internal};
    const Heard heard = run(engine, prompt_of(5, 10));
    CHECK(heard.ids.size() == 2);
    CHECK(heard.reason == FinishReason::error);
    CHECK(heard.status == wanted[mode]);
    if (mode == 0) CHECK(heard.message == "The device is gone.");
    CHECK_FALSE(heard.message.empty());
    CHECK(run(engine, prompt_of(5, 10)).ids.size() == 10);
}

TEST_CASE("logits that aren't finite end the request, and say at which token") {
    Fixture fixture;
    const float bad = GENERATE(INFINITY, -INFINITY);
    const float temperature = GENERATE(0.0f, 0.8f);
    fixture.script.poison = [=](uint64_t, uint32_t position) { return position == 6 ? bad : NAN; };
    RequestOptions options = prompt_of(5, 10);
    options.sampler.temperature = temperature;
    const Heard heard = run(fixture.start(), options);
    CHECK(heard.ids.size() == 2);
    CHECK(heard.reason == FinishReason::error);
    CHECK(heard.status == StatusCode::logits_not_finite);
    CHECK(heard.message.find("logits are not finite at generated token 2") != std::string::npos);
}

TEST_CASE("a bias that forbids every token is an error of the request") {
    Fixture fixture;
    RequestOptions options = prompt_of(5, 10);
    for (int32_t id = 0; id < 384; ++id) options.sampler.logit_bias.emplace_back(id, -INFINITY);
    const Heard heard = run(fixture.start(), options);
    CHECK(heard.status == StatusCode::no_token_allowed);
    options.sampler.logit_bias.resize(383);  // one is left
    options.ignore_eos = true;
    CHECK(run(*fixture.engine, options).ids == std::vector<int32_t>(10, 383));
}

TEST_CASE("what a callback throws ends its request alone") {
    Fixture fixture;
    fixture.script.before_run = [](const StepBatch&) {
        Fixture::take_a_while();
        return Status();
    };
    Engine& engine = fixture.start();
    const bool blocking = GENERATE(false, true);
    RequestOptions options = long_request();
    int n_events = 0, n_released = 0;
    options.on_event = [&](const Event&) -> bool {
        ++n_events;
        throw std::runtime_error("no more");
    };
    options.on_release = [&] { ++n_released; };
    auto request = blocking ? engine.generate(std::move(options)) : engine.submit(std::move(options));
    REQUIRE(request.ok());
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    CHECK(n_events == 2);  // the first token and the end
    CHECK((*request)->finish_reason() == FinishReason::error);
    CHECK((*request)->status().code() == StatusCode::internal);
    CHECK((*request)->status().message().find("no more") != std::string::npos);
    request = Status();
    CHECK(n_released == 1);
    CHECK(run(engine, prompt_of(4, 4)).ids.size() == 4);
}

TEST_CASE("destroying a request cancels it, waits for the last callback and releases once") {
    Fixture fixture;
    Engine& engine = fixture.start();
    std::atomic<int> n_released = 0, n_finished = 0;
    std::atomic<bool> told_too_late = false;
    const auto options_of = [&] {
        RequestOptions options = long_request();
        options.on_event = [&](const Event& event) {
            if (n_released > 0) told_too_late = true;
            if (event.type == EventType::finished) ++n_finished;
            return true;
        };
        options.on_release = [&] { ++n_released; };
        return options;
    };
    {
        auto request = engine.submit(options_of());
        REQUIRE(request.ok());
    }
    CHECK(n_finished == 1);
    CHECK(n_released == 1);
    n_released = n_finished = 0;
    {
        auto request = engine.submit(options_of());
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        CHECK(n_finished == 1);
        CHECK(n_released == 0);
    }
    CHECK(n_released == 1);
    CHECK_FALSE(told_too_late);
}

TEST_CASE("a request destroyed inside its own callback, or another's, is released after its last callback") {
    Fixture fixture;
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    std::atomic<int> n_released = 0;
    std::atomic<int> n_events = 0;
    std::unique_ptr<Request> own, other;
    RequestOptions options = long_request();
    options.on_event = [&](const Event&) {
        ++n_events;
        own.reset();
        other.reset();
        return true;
    };
    options.on_release = [&] { ++n_released; };
    RequestOptions other_options = long_request();
    other_options.on_release = [&] { ++n_released; };
    own = std::move(*engine.submit(std::move(options)));
    other = std::move(*engine.submit(std::move(other_options)));
    gate.open();
    while (n_released < 2) std::this_thread::yield();
    CHECK(n_events == 2);  // one token, one end
    CHECK(run(engine, prompt_of(4, 4)).ids.size() == 4);
}

TEST_CASE("inside a callback times, cancels and submits are allowed, and nothing may wait") {
    Fixture fixture;
    Engine& engine = fixture.start();
    const bool blocking = GENERATE(false, true);
    Heard later;
    std::unique_ptr<Request> submitted;
    auto bystander = engine.submit(prompt_of(4, 4));
    bool checked = false;
    RequestOptions options = prompt_of(4, 4);
    options.on_event = [&](const Event& event) {
        if (event.type != EventType::finished) return true;
        checked = true;
        CHECK(engine.inside_callback());
        CHECK((*bystander)->wait(0).code() == StatusCode::invalid_state);
        CHECK((*bystander)->next(0).status().code() == StatusCode::invalid_state);
        CHECK((*bystander)->pump({}).code() == StatusCode::invalid_state);
        CHECK(engine.generate(prompt_of(4, 4)).status().code() == StatusCode::invalid_state);
        const int32_t id = 1;
        const auto on_logits = [](size_t, std::span<const float>) { return true; };
        CHECK(engine.evaluate({&id, 1}, 0, 0, on_logits).code() == StatusCode::invalid_state);
        CHECK((*bystander)->timing().prompt_tokens == 4);
        (*bystander)->cancel();
        auto request = submit(engine, prompt_of(4, 4), later);
        CHECK(request.ok());
        submitted = std::move(*request);
        return true;
    };
    CHECK_FALSE(engine.inside_callback());
    auto request = blocking ? engine.generate(std::move(options)) : engine.submit(std::move(options));
    // Outside of any assertion: Catch takes one thread at a time, and now it is the callback's.
    const Status waited = (*request)->wait(UINT64_MAX);
    CHECK(waited.ok());
    CHECK(checked);
    CHECK_FALSE(engine.inside_callback());
    REQUIRE(submitted->wait(UINT64_MAX).ok());
    CHECK(later.ids.size() == 4);
}

TEST_CASE("an engine that is destroyed ends what runs and what waits, and its handles live on") {
    EngineOptions options;
    options.max_sequences = 1;
    Fixture fixture(options);
    Gate gate;
    fixture.script.before_run = [&](const StepBatch&) {
        gate.pass();
        Fixture::take_a_while();
        return Status();
    };
    Heard heard[2];
    auto running = submit(fixture.start(), long_request(), heard[0]);
    auto waiting = submit(*fixture.engine, long_request(), heard[1]);
    auto pulled = fixture.engine->submit(long_request());
    gate.wait_for_arrivals(1);
    gate.open();
    fixture.engine.reset();
    for (const Heard& one : heard) {
        CHECK(one.n_finished == 1);
        CHECK((one.reason == FinishReason::cancelled));
    }
    CHECK((*running)->wait(0).ok());
    CHECK((*waiting)->wait(0).ok());
    CHECK((*waiting)->timing().generated_tokens == 0);
    CHECK((*pulled)->next(0)->type == EventType::finished);
    (*running)->cancel();
}

TEST_CASE("the last owner of an engine may be one of its callbacks") {
    const bool blocking = GENERATE(false, true);
    Fixture fixture;
    Gate gate;  // submit() has returned before its engine goes
    fixture.script.before_run = [&](const StepBatch&) {
        gate.pass();
        Fixture::take_a_while();
        return Status();
    };
    fixture.start();
    if (blocking) gate.open();
    std::atomic<int> n_finished = 0, n_released = 0;
    RequestOptions options = long_request();
    options.on_event = [&](const Event& event) {
        if (event.type == EventType::finished) ++n_finished;
        fixture.engine.reset();
        return true;
    };
    options.on_release = [&] { ++n_released; };
    std::weak_ptr<Engine> gone = fixture.engine;
    if (blocking) {
        auto request = fixture.engine->generate(std::move(options));
        CHECK(request.ok());
        CHECK((*request)->finish_reason() == FinishReason::cancelled);
    } else {
        Engine* const engine = fixture.engine.get();
        auto request = engine->submit(std::move(options));
        gate.open();
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        CHECK((*request)->finish_reason() == FinishReason::cancelled);
    }
    CHECK(gone.expired());
    CHECK(n_finished == 1);
    CHECK(n_released == 1);
    // The worker may still be on its way out with the script in hand: the runtime is the last thing it lets
    // go.
    std::weak_ptr<Runtime> runtime = fixture.runtime;
    fixture.runtime.reset();
    while (!runtime.expired()) std::this_thread::yield();
}

}  // namespace takt
