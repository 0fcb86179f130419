// When a broken bound is told, and what statistics say of it, on a clock that the test moves.
#include <algorithm>
#include <stdexcept>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

constexpr uint64_t kStep = 1000, kRow = 10;

using Misses = std::vector<SloMiss>;

EngineOptions telling(EngineOptions options, const std::shared_ptr<Misses>& misses) {
    options.on_slo_miss = [misses](const SloMiss& miss) { misses->push_back(miss); };
    return options;
}

struct WatchFixture : Fixture {
    explicit WatchFixture(const EngineOptions& options,
                          std::shared_ptr<Misses> list = std::make_shared<Misses>())
        : Fixture(telling(options, list)), misses(std::move(list)) {
        script.clock = manual.get();
        script.step_ns = kStep;
        script.row_ns = kRow;
    }
    const std::shared_ptr<Misses> misses;
};

EngineOptions with_slo(Slo slo) {
    EngineOptions options;
    options.slo = slo;
    return options;
}

}  // namespace

TEST_CASE("bounds that are kept are told to nobody, and count as good") {
    WatchFixture fixture(with_slo({kStep + 20 * kRow, kStep + kRow, kStep + kRow, 4 * kStep + 23 * kRow}));
    Engine& engine = fixture.start();
    run(engine, prompt_of(20, 4));
    CHECK(fixture.misses->empty());
    CHECK(engine.statistics().slo_good == 1);
    CHECK(engine.statistics().good_tokens == 4);
    CHECK(engine.statistics().slo_missed == 0);
}

TEST_CASE("each bound is told once, with its value") {
    WatchFixture fixture(with_slo({kStep, kStep, kStep, 3 * kStep}));
    Engine& engine = fixture.start();
    auto request = engine.submit(prompt_of(20, 4));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    std::vector<Bound> bounds;
    for (const SloMiss& miss : *fixture.misses) {
        bounds.push_back(miss.bound);
        CHECK(miss.request == (*request)->number());
        CHECK(miss.value_ns > miss.bound_ns);
    }
    REQUIRE(bounds.size() == 4);
    CHECK(bounds[0] == Bound::ttft);
    CHECK(bounds[1] == Bound::itl);
    const SloMiss& ttft = (*fixture.misses)[0];
    CHECK(ttft.bound_ns == kStep);
    CHECK(ttft.value_ns == kStep + 20 * kRow);
    CHECK((*fixture.misses)[1].value_ns == kStep + kRow);
    CHECK((*fixture.misses)[1].at_ns == ttft.at_ns + kStep + kRow);
    const EngineStatistics statistics = engine.statistics();
    CHECK(statistics.slo_missed == 1);
    CHECK(statistics.slo_broken == std::array<uint64_t, kBounds>{1, 1, 1, 1});
}

TEST_CASE("a request that waits is told as late while it waits") {
    EngineOptions options = with_slo({2500, 0, 0, 0});
    options.max_sequences = 1;
    WatchFixture fixture(options);
    Engine& engine = fixture.start();
    Heard first;
    std::unique_ptr<Request> second;
    uint64_t told_before_first_token = 0;
    RequestOptions long_one = prompt_of(4, 8);
    long_one.slo = Slo{};  // no bounds of its own
    long_one.on_event = [&](const Event& event) {
        if (event.token_index == 0 && !second) second = std::move(*engine.submit(prompt_of(4, 1)));
        if (event.type == EventType::token && event.token_index == 7)
            told_before_first_token = fixture.misses->size();
        return first.hear(event);
    };
    auto request = engine.submit(std::move(long_one));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    REQUIRE(second->wait(UINT64_MAX).ok());
    CHECK(told_before_first_token == 1);
    REQUIRE(fixture.misses->size() == 1);
    const SloMiss& miss = fixture.misses->front();
    CHECK(miss.request == second->number());
    CHECK(miss.bound == Bound::ttft);
    CHECK(miss.value_ns > 2500);
    CHECK(miss.value_ns <= 2500 + kStep + kRow);  // within a step of when it was over
    CHECK(miss.token_index == 0);
}

TEST_CASE("TPOT is told as soon as max_tokens can't mend it") {
    WatchFixture fixture(with_slo({0, 500, 0, 0}));
    Engine& engine = fixture.start();
    run(engine, prompt_of(4, 9));  // eight gaps of 1010: the bound of 8 x 500 is over with the fourth
    REQUIRE(fixture.misses->size() == 1);
    CHECK(fixture.misses->front().bound == Bound::tpot);
    CHECK(fixture.misses->front().token_index == 4);
}

TEST_CASE("who is cancelled in time isn't judged, who is cancelled late is told and counted") {
    for (const bool late : {false, true}) {
        WatchFixture fixture(with_slo({late ? 1 : 1'000'000u, 0, 0, 0}));
        Engine& engine = fixture.start();
        RequestOptions options = prompt_of(4, 8);
        options.on_event = [](const Event& event) { return event.token_index < 2; };
        auto request = engine.submit(std::move(options));
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        CHECK((*request)->finish_reason() == FinishReason::cancelled);
        CHECK(fixture.misses->size() == (late ? 1u : 0u));
        CHECK(engine.statistics().slo_missed == (late ? 1u : 0u));
        CHECK(engine.statistics().slo_good == 0);
    }
}

TEST_CASE("a listener that throws is not called again, and requests go on") {
    int n_calls = 0;
    EngineOptions options = with_slo({1, 1, 1, 1});
    options.on_slo_miss = [&](const SloMiss&) {
        ++n_calls;
        throw std::runtime_error("no");
    };
    Fixture fixture(options);
    fixture.script.clock = fixture.manual.get();
    fixture.script.step_ns = kStep;
    const Heard heard = run(fixture.start(), prompt_of(4, 5));
    CHECK(heard.reason == FinishReason::length);
    CHECK(heard.ids.size() == 5);
    CHECK(n_calls == 1);
}

TEST_CASE("a listener may submit, and is refused what waits") {
    EngineOptions options = with_slo({1, 0, 0, 0});
    Engine* engine = nullptr;
    std::unique_ptr<Request> more;
    StatusCode waited = StatusCode::ok;
    options.on_slo_miss = [&](const SloMiss&) {
        if (more) return;
        RequestOptions next = prompt_of(4, 2);
        next.slo = Slo{};
        more = std::move(*engine->submit(std::move(next)));
        waited = engine->generate(prompt_of(4, 2)).status().code();
    };
    Fixture fixture(options);
    fixture.script.clock = fixture.manual.get();
    fixture.script.step_ns = kStep;
    engine = &fixture.start();
    auto request = engine->submit(prompt_of(4, 5));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    REQUIRE(more);
    REQUIRE(more->wait(UINT64_MAX).ok());
    CHECK(waited == StatusCode::invalid_state);
}

TEST_CASE("a request that is refused because the queue is full was shed, and missed its bounds") {
    EngineOptions options = with_slo({1'000'000'000, 0, 0, 0});
    options.max_sequences = 1;
    options.max_waiting = 1;
    Fixture fixture(options);
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    auto a = engine.submit(prompt_of(4, 1));
    gate.wait_for_arrivals(1);
    auto b = engine.submit(prompt_of(4, 1));
    auto c = engine.submit(prompt_of(4, 1));
    CHECK(c.status().code() == StatusCode::queue_full);
    gate.open();
    REQUIRE((*b)->wait(UINT64_MAX).ok());
    const EngineStatistics statistics = engine.statistics();
    CHECK(statistics.shed == 1);
    CHECK(statistics.slo_missed == 1);
    CHECK(statistics.slo_failed == 1);
    CHECK(statistics.slo_good == 2);
}

}  // namespace takt
