// Stamps of requests on a clock that only the backend moves: every number is exact.
#include <cmath>

#include "engine/chunk_budget.h"
#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

constexpr uint64_t kStart = 1000, kStep = 100, kRow = 7;

struct TimedFixture : Fixture {
    explicit TimedFixture(EngineOptions options = {}) : Fixture(options) {
        script.clock = manual.get();
        script.step_ns = kStep;
        script.row_ns = kRow;
    }
};

}  // namespace

TEST_CASE("a request alone: prefill in chunks, then a step a token") {
    EngineOptions options;
    options.chunk_tokens = 8;
    TimedFixture fixture(options);
    Engine& engine = fixture.start();
    RequestOptions request_options = prompt_of(20, 4);  // chunks of 8, 8 and 4
    std::vector<Event> events;
    request_options.on_event = [&](const Event& event) {
        events.push_back(event);
        fixture.manual->advance_ns(5);  // a slow reader: delivery enters no metric of its own
        return true;
    };
    auto request = engine.submit(std::move(request_options));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    const uint64_t prefill = 3 * kStep + 20 * kRow, decode = kStep + kRow;
    const TimingSummary timing = (*request)->timing();
    check_identity(timing);
    CHECK(timing.queue_ns == 0);
    CHECK(timing.prefill_ns == prefill);
    CHECK(timing.decode_ns == 3 * (decode + 5));
    CHECK(timing.finish_ns == 0);
    CHECK(timing.ttft_ns == prefill);
    CHECK(timing.tpot_ns == double(decode + 5));
    CHECK(timing.tpot_n1_ns == double(decode + 5));
    CHECK(timing.step_gap_ns.count == 3);
    CHECK(timing.step_gap_ns.p50 == double(decode + 5));
    CHECK(timing.itl_ns.max == double(decode + 5));
    CHECK(timing.prompt_tokens == 20);
    CHECK(timing.generated_tokens == 4);
    CHECK(*timing.prefill_tokens_per_second == Approx(20e9 / double(prefill)));
    CHECK(*timing.decode_tokens_per_second == Approx(1e9 / double(decode + 5)));
    REQUIRE(events.size() == 5);
    for (const Event& event : events) {
        CHECK(event.submitted_ns == kStart);
        CHECK(event.scheduled_ns == kStart);
    }
    CHECK(events[0].computed_ns == kStart + prefill);
    CHECK(events[0].ready_ns == kStart + prefill);
    CHECK(events[0].delivered_ns == kStart + prefill);
    CHECK(events[0].compute_ns == prefill);  // of all prefill steps
    CHECK(events[0].step_rows == 4);
    CHECK(events[1].computed_ns == kStart + prefill + 5 + decode);
    CHECK(events[1].compute_ns == decode);
    CHECK(events[1].step_rows == 1);
    CHECK(events[4].ready_ns == *(*request)->timeline().finished_ns);
    CHECK(events[4].delivered_ns == events[4].ready_ns + 5);  // the last token was told first
}

TEST_CASE("a request that waits: its queue time is that of those before it") {
    EngineOptions options;
    options.max_sequences = 1;
    TimedFixture fixture(options);
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    auto first = engine.submit(prompt_of(10, 3));
    gate.wait_for_arrivals(1);
    fixture.manual->advance_ns(40);  // the step of the first has begun
    auto second = engine.submit(prompt_of(5, 2));
    gate.open();
    REQUIRE((*second)->wait(UINT64_MAX).ok());
    const TimingSummary a = (*first)->timing(), b = (*second)->timing();
    check_identity(a);
    check_identity(b);
    CHECK(a.queue_ns == 0);
    CHECK(a.prefill_ns == 40 + kStep + 10 * kRow);
    CHECK(a.decode_ns == 2 * (kStep + kRow));
    CHECK(b.queue_ns == kStep + 10 * kRow + 2 * (kStep + kRow));
    CHECK(b.prefill_ns == kStep + 5 * kRow);
    CHECK(*b.ttft_ns == b.queue_ns + b.prefill_ns);
    CHECK(b.decode_ns == kStep + kRow);
}

TEST_CASE("a prompt that joins shows in the step gap of who decodes") {
    EngineOptions engine_options;
    engine_options.step_gap_ns = ChunkBudget::kNoLimit;
    TimedFixture fixture(engine_options);
    Engine& engine = fixture.start();
    std::unique_ptr<Request> late;
    RequestOptions options = prompt_of(4, 5);
    options.on_event = [&](const Event& event) {
        if (event.token_index == 1 && !late) late = std::move(*engine.submit(prompt_of(50, 2)));
        return true;
    };
    auto request = engine.submit(std::move(options));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    REQUIRE(late->wait(UINT64_MAX).ok());
    const TimingSummary timing = (*request)->timing(), joined = late->timing();
    check_identity(timing);
    check_identity(joined);
    CHECK(timing.step_gap_ns.max == double(kStep + 51 * kRow));  // its own row and the prompt
    CHECK(timing.step_gap_ns.p50 ==
          double(kStep + kRow));  // 107, 107, 114, 457: two alone, one beside the other
    CHECK(timing.decode_ns == 4 * kStep + (1 + 51 + 2 + 1) * kRow);
    CHECK(joined.queue_ns == 0);
    CHECK(joined.prefill_ns == kStep + 51 * kRow);
    CHECK(joined.decode_ns == kStep + 2 * kRow);
}

TEST_CASE("the earlier entry of the call counts where it is given") {
    TimedFixture fixture;
    fixture.manual->advance_ns(60);
    RequestOptions options = prompt_of(4, 1);
    options.submitted_ns = kStart;
    auto request = fixture.start().submit(std::move(options));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    CHECK((*request)->timing().queue_ns == 60);
    check_identity((*request)->timing());
}

TEST_CASE("phases add up when a request is cancelled, fails or is looked at while it runs") {
    TimedFixture fixture;
    Engine& engine = fixture.start();
    SECTION("cancelled after two tokens") {
        Heard heard;
        RequestOptions options = prompt_of(4, 50);
        options.on_event = [&](const Event& event) {
            heard.hear(event);
            fixture.manual->advance_ns(9);
            return heard.ids.size() < 2;
        };
        auto request = engine.submit(std::move(options));
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        const TimingSummary timing = (*request)->timing();
        check_identity(timing);
        CHECK(timing.generated_tokens == 2);
        CHECK(timing.decode_ns == 9 + kStep + kRow);
        CHECK(timing.finish_ns == 9);  // from its last token to the answer that ended it
    }
    SECTION("failed in the second step") {
        int n_steps = 0;
        fixture.script.before_run = [&](const StepBatch&) -> Status {
            if (++n_steps < 2) return {};
            fixture.manual->advance_ns(33);
            return Status(StatusCode::device_failed, "It broke.");
        };
        auto request = engine.submit(prompt_of(4, 50));
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        const TimingSummary timing = (*request)->timing();
        check_identity(timing);
        CHECK(timing.generated_tokens == 1);
        CHECK(timing.finish_ns == 33);
        CHECK_FALSE(timing.tpot_ns);
    }
    SECTION("failed in its prefill") {
        fixture.script.before_run = [&](const StepBatch&) -> Status {
            fixture.manual->advance_ns(21);
            return Status(StatusCode::device_failed, "It broke.");
        };
        auto request = engine.submit(prompt_of(4, 50));
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        const TimingSummary timing = (*request)->timing();
        check_identity(timing);
        CHECK(timing.prefill_ns == 21);
        CHECK(timing.e2e_ns == 21);
        CHECK_FALSE(timing.ttft_ns);
    }
    SECTION("looked at from its callback") {
        std::unique_ptr<Request> request;
        Gate gate;
        fixture.hold_steps(gate);
        RequestOptions options = prompt_of(4, 3);
        std::vector<TimingSummary> seen;
        options.on_event = [&](const Event&) {
            fixture.manual->advance_ns(3);
            seen.push_back(request->timing());
            return true;
        };
        request = std::move(*engine.submit(std::move(options)));
        gate.open();
        REQUIRE(request->wait(UINT64_MAX).ok());
        REQUIRE(seen.size() == 4);
        for (size_t i = 0; i < 4; ++i) {
            check_identity(seen[i]);
            CHECK(seen[i].generated_tokens == std::min<size_t>(i + 1, 3));
        }
        CHECK(seen[1].e2e_ns == kStep + 4 * kRow + 3 + kStep + kRow + 3);
        CHECK(seen[1].finish_ns == 3);  // of one that runs: since its last token
    }
    SECTION("in an instant") {
        auto request = engine.submit(prompt_of(4, 0));
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        const TimingSummary timing = (*request)->timing();
        check_identity(timing);
        CHECK(timing.e2e_ns == 0);
        CHECK(timing.queue_ns == 0);
        CHECK_FALSE(timing.prefill_tokens_per_second);
    }
}

}  // namespace takt
