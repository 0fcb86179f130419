// An engine without a thread: whoever steps or waits does its work, and tokens are those of one with a
// thread.
#include "engine_fixture.h"

#include <filesystem>
#include <set>

#include "engine/session.h"

namespace takt {
namespace {

using namespace takt::test;

EngineOptions driven() {
    EngineOptions options;
    options.step_driven = true;
    return options;
}

size_t n_threads_of_process() {
    size_t n = 0;
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++n;
    return n;
}

}  // namespace

TEST_CASE("steps are taken on the calling thread, and no thread is made") {
    const size_t before = n_threads_of_process();
    Fixture fixture(driven());
    std::set<std::thread::id> threads;
    fixture.script.before_run = [&](const StepBatch&) {
        threads.insert(std::this_thread::get_id());
        return Status();
    };
    Engine& engine = fixture.start();
    CHECK(n_threads_of_process() == before);
    const auto idle = engine.step();
    REQUIRE(idle.ok());
    CHECK_FALSE(*idle);
    Heard heard[3];
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 3; ++i) requests.push_back(std::move(*submit(engine, prompt_of(10, 8, i), heard[i])));
    CHECK(heard[0].events.empty());
    int n_steps = 0;
    for (bool more = true; more; ++n_steps) more = *engine.step();
    CHECK(n_steps >= 8);
    CHECK(n_steps <= 12);
    for (const Heard& one : heard) {
        CHECK(one.ids.size() == 8);
        CHECK(one.n_finished == 1);
    }
    CHECK(threads == std::set<std::thread::id>{std::this_thread::get_id()});
    CHECK(n_threads_of_process() == before);

    Fixture threaded;
    for (int i = 0; i < 3; ++i) CHECK(run(threaded.start(), prompt_of(10, 8, i)).ids == heard[i].ids);
}

TEST_CASE("calls that wait take the steps themselves") {
    Fixture fixture(driven());
    Engine& engine = fixture.start();
    Fixture threaded;
    const Heard expected = run(threaded.start(), prompt_of(10, 8));
    SECTION("generate") {
        CHECK(run(engine, prompt_of(10, 8)).ids == expected.ids);
    }
    SECTION("pulling events") {
        auto request = engine.submit(prompt_of(10, 8));
        CHECK((*request)->next(0).status().code() == StatusCode::timed_out);  // nothing was asked to happen
        std::vector<int32_t> ids;
        for (;;) {
            const auto event = (*request)->next(UINT64_MAX);
            REQUIRE(event.ok());
            if (event->type == EventType::finished) break;
            ids.push_back(event->token_id);
        }
        CHECK(ids == expected.ids);
    }
    SECTION("waiting for the end, while another request is before it") {
        EngineOptions one_at_a_time = driven();
        one_at_a_time.max_sequences = 1;
        Fixture narrow(one_at_a_time);
        Heard first, second;
        auto ahead = submit(narrow.start(), prompt_of(10, 8, 1), first);
        auto behind = submit(*narrow.engine, prompt_of(10, 8), second);
        REQUIRE((*behind)->wait(UINT64_MAX).ok());
        CHECK(second.ids == expected.ids);
        CHECK(first.n_finished == 1);
    }
    SECTION("evaluate") {
        size_t n = 0;
        const std::vector<int32_t> ids = prompt_of(40, 0).prompt_ids;
        const Status status = engine.evaluate(ids, 5, 7, [&](size_t, std::span<const float>) {
            ++n;
            return true;
        });
        CHECK(status.ok());
        CHECK(n == 35);
    }
    SECTION("a session's turn") {
        auto session = Session::create(fixture.engine, "");
        REQUIRE(session.ok());
        RequestOptions options;
        options.max_tokens = 5;
        options.ignore_eos = true;
        const auto turn = (*session)->send("Hello", options);
        REQUIRE(turn.ok());
        CHECK((*turn)->timing().generated_tokens == 5);
    }
    SECTION("a timeout ends between two steps") {
        fixture.script.before_run = [](const StepBatch&) {
            Fixture::take_a_while();
            return Status();
        };
        RequestOptions endless = prompt_of(10, 200);
        endless.ignore_eos = true;
        auto request = engine.submit(std::move(endless));
        CHECK((*request)->wait(20'000'000).code() == StatusCode::timed_out);
        CHECK((*request)->timing().generated_tokens > 0);
    }
}

TEST_CASE("ends that need no step take none") {
    Fixture fixture(driven());
    int n_steps = 0;
    fixture.script.before_run = [&](const StepBatch&) {
        ++n_steps;
        return Status();
    };
    Engine& engine = fixture.start();
    Heard heard[2];
    auto first = submit(engine, prompt_of(10, 50), heard[0]);
    auto second = submit(engine, prompt_of(10, 50, 1), heard[1]);
    REQUIRE(engine.step().ok());
    SECTION("destroying a request") {
        first->reset();
        CHECK(heard[0].reason == FinishReason::cancelled);
        CHECK(heard[1].n_finished == 0);
    }
    SECTION("cancelling all") {
        engine.cancel_all_and_wait();
        CHECK(heard[0].n_finished + heard[1].n_finished == 2);
    }
    SECTION("destroying the engine") {
        fixture.engine.reset();
        CHECK(heard[0].n_finished + heard[1].n_finished == 2);
        CHECK((*first)->wait(UINT64_MAX).ok());
    }
    CHECK(n_steps == 1);
}

TEST_CASE("a step inside a callback, of a second thread, or of an engine with a thread is refused") {
    Fixture threaded;
    CHECK(threaded.start().step().status().code() == StatusCode::invalid_state);

    Fixture fixture(driven());
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    StatusCode inside = StatusCode::ok;
    RequestOptions options = prompt_of(10, 3);
    options.on_event = [&](const Event&) {
        inside = engine.step().status().code();
        return true;
    };
    auto request = engine.submit(std::move(options));
    std::thread other([&] {
        while (*engine.step()) {
        }
    });
    gate.wait_for_arrivals(1);
    CHECK(engine.step().status().code() == StatusCode::invalid_state);
    gate.open();
    REQUIRE((*request)->wait(UINT64_MAX).ok());  // waits while the other thread steps
    other.join();
    CHECK(inside == StatusCode::invalid_state);
}

TEST_CASE("threads that wait share the steps, whoever stops first") {
    Fixture fixture(driven());
    Engine& engine = fixture.start();
    std::vector<std::thread> threads;
    std::atomic<int> n_right = 0;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (uint32_t n = 1; n <= 12; ++n) {
                auto request = engine.generate(prompt_of(static_cast<size_t>(5 + i), n, i));
                n_right += request.ok() && (*request)->timing().generated_tokens == n;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(n_right == 48);
}

TEST_CASE("the last owner of a step-driven engine may be a callback of its step") {
    Fixture fixture(driven());
    fixture.start();
    int n_finished = 0;
    RequestOptions options = prompt_of(10, 20);
    options.on_event = [&](const Event& event) {
        n_finished += event.type == EventType::finished;
        fixture.engine.reset();
        return true;
    };
    Engine* const engine = fixture.engine.get();
    auto request = engine->submit(std::move(options));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    CHECK(n_finished == 1);
    CHECK((*request)->finish_reason() == FinishReason::cancelled);
}

}  // namespace takt
