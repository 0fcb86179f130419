// What a step gap was spent on, on a clock that only the backend and the test's callbacks move.
#include <algorithm>
#include <thread>

#include "engine/chunk_budget.h"
#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

constexpr uint64_t kStep = 1000, kRow = 10;

struct GapFixture : Fixture {
    explicit GapFixture(EngineOptions options = {}) : Fixture(options) {
        script.clock = manual.get();
        script.step_ns = kStep;
        script.row_ns = kRow;
    }
};

// The gaps of a request's events, first tokens of steps alone.
std::vector<GapParts> gaps_of(const Heard& heard) {
    std::vector<GapParts> gaps;
    for (const Event& event : heard.events) {
        if (event.type == EventType::token && event.step_token_index == 0 && event.token_index > 0)
            gaps.push_back(event.gap);
    }
    return gaps;
}

void check_parts(const GapParts& gap) {
    CHECK(gap.sum_of_parts() == gap.total_ns);
    CHECK(gap.worst.ns <= gap.other_prefill_ns);
}

}  // namespace

TEST_CASE("alone, a gap is its own compute and the callback before it") {
    GapFixture fixture;
    Engine& engine = fixture.start();
    Heard heard;
    RequestOptions options = prompt_of(20, 4);
    options.on_event = [&](const Event& event) {
        fixture.manual->advance_ns(5);
        return heard.hear(event);
    };
    auto request = engine.submit(std::move(options));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    const std::vector<GapParts> gaps = gaps_of(heard);
    REQUIRE(gaps.size() == 3);
    for (const GapParts& gap : gaps) {
        check_parts(gap);
        CHECK(gap.total_ns == kStep + kRow + 5);
        CHECK(gap.own_compute_ns == kStep + kRow);
        CHECK(gap.callback_ns == 5);
        CHECK(gap.worst.request == 0);
    }
    const Timeline timeline = (*request)->timeline();
    CHECK(timeline.gaps.total_ns == (*request)->timing().decode_ns);
    CHECK(timeline.gaps.callback_ns == 15);
    CHECK(timeline.longest_gap.total_ns == kStep + kRow + 5);
    CHECK(heard.events.front().gap.total_ns == 0);  // nothing came before the first token
}

TEST_CASE("a prompt that joins is named by the gap that it made longer, by both sides") {
    EngineOptions engine_options;
    engine_options.step_gap_ns = ChunkBudget::kNoLimit;
    GapFixture fixture(engine_options);
    Engine& engine = fixture.start();
    std::unique_ptr<Request> late;
    Heard heard;
    RequestOptions options = prompt_of(4, 8);
    options.on_event = [&](const Event& event) {
        heard.hear(event);
        if (event.token_index == 3 && !late) late = std::move(*engine.submit(prompt_of(200, 4, 3)));
        return true;
    };
    auto request = engine.submit(std::move(options));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    REQUIRE(late->wait(UINT64_MAX).ok());
    const std::vector<GapParts> gaps = gaps_of(heard);
    REQUIRE(gaps.size() == 7);
    for (const GapParts& gap : gaps) check_parts(gap);
    // Three steps alone said what a decode row costs: the rest of the fourth is the prompt's.
    CHECK(gaps[3].own_compute_ns == kStep + kRow);
    CHECK(gaps[3].other_prefill_ns == 200 * kRow);
    CHECK(gaps[3].worst.request == late->number());
    CHECK(gaps[3].worst.ns == 200 * kRow);
    CHECK(gaps[3].other_decode_ns == 0);
    // From then on they decode together; two rows were never measured before the first of these steps.
    CHECK(gaps[4].other_prefill_ns == 0);
    CHECK(gaps[4].own_compute_ns + gaps[4].other_decode_ns == kStep + 2 * kRow);
    CHECK(gaps[4].own_compute_ns > gaps[4].other_decode_ns);
    const Timeline victim = (*request)->timeline(), culprit = late->timeline();
    CHECK(victim.longest_gap.worst.request == late->number());
    CHECK(victim.stalled_by.entries()[0].request == late->number());
    CHECK(victim.stalled_by.entries()[0].ns == 200 * kRow);
    CHECK(culprit.stalled_others_ns == 200 * kRow);
    CHECK(victim.stalled_others_ns == 0);
}

TEST_CASE("who has no pages waits for them, whatever goes on meanwhile") {
    EngineOptions options;
    options.context_tokens = 96;
    options.kv_tokens = 96;
    options.page_tokens = 16;
    options.max_sequences = 2;
    options.prefix_reuse = false;
    GapFixture fixture(options);
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    Heard first, second;
    auto a = submit(engine, prompt_of(10, 60), first);
    gate.wait_for_arrivals(1);
    auto b = submit(engine, prompt_of(10, 60, 2), second);
    gate.open();
    REQUIRE((*a)->wait(UINT64_MAX).ok());
    REQUIRE((*b)->wait(UINT64_MAX).ok());
    REQUIRE(engine.statistics().n_preemptions > 0);
    for (const Heard* heard : {&first, &second}) {
        for (const GapParts& gap : gaps_of(*heard)) check_parts(gap);
    }
    const Timeline timeline = (*b)->timeline();
    REQUIRE(timeline.n_preemptions > 0);
    CHECK(timeline.longest_gap.page_wait_ns > 10 * kStep);
    CHECK(timeline.gaps.page_wait_ns == timeline.longest_gap.page_wait_ns * timeline.n_preemptions);
    // It computed all of its tokens again, beside nobody.
    CHECK(timeline.longest_gap.other_prefill_ns == 0);
    CHECK(timeline.longest_gap.own_compute_ns >= kStep + 11 * kRow);
    CHECK((*a)->timeline().gaps.page_wait_ns == 0);
}

TEST_CASE("an evaluation between two tokens is others' prompt") {
    GapFixture fixture;
    Engine& engine = fixture.start();
    Heard heard;
    Gate gate;
    RequestOptions options = prompt_of(4, 400);
    options.on_event = [&](const Event& event) { return heard.hear(event); };
    auto request = engine.submit(std::move(options));
    std::vector<int32_t> ids(64, 5);
    REQUIRE(engine.evaluate(ids, 63, 64, [](size_t, std::span<const float>) { return true; }).ok());
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    const Timeline timeline = (*request)->timeline();
    for (const GapParts& gap : gaps_of(heard)) check_parts(gap);
    if (timeline.gaps.other_prefill_ns > 0) {  // it came while the request ran
        CHECK(timeline.gaps.other_prefill_ns == kStep + 64 * kRow);
        CHECK(timeline.longest_gap.worst.request != 0);
    }
    CHECK(timeline.gaps.total_ns == (*request)->timing().decode_ns);
}

TEST_CASE("another engine of the runtime that has the turn is told as that") {
    GapFixture fixture;
    Engine& engine = fixture.start();
    Heard heard;
    std::atomic<bool> holding{false};
    RequestOptions options = prompt_of(4, 3);
    std::thread other;
    options.on_event = [&](const Event& event) {
        heard.hear(event);
        if (event.token_index ==
            0) {  // before the next step somebody else has the turn, and keeps it for a while
            other = std::thread([&] {
                const Runtime::StepTurn turn(*fixture.runtime, 1);
                holding = true;
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                fixture.manual->advance_ns(777);
            });
            while (!holding) std::this_thread::yield();
        }
        return true;
    };
    auto request = engine.submit(std::move(options));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    other.join();
    const std::vector<GapParts> gaps = gaps_of(heard);
    REQUIRE(gaps.size() == 2);
    CHECK(gaps[0].other_engines_ns == 777);
    CHECK(gaps[0].own_compute_ns == kStep + kRow);
    CHECK(gaps[0].total_ns == kStep + kRow + 777);
    CHECK(gaps[1].other_engines_ns == 0);
}

}  // namespace takt
