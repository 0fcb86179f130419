// Two thousand requests of every kind on the real clock: nothing of their time is lost or counted twice.
#include <chrono>
#include <random>
#include <thread>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

constexpr int kRequests = 2000;

// What one request's events say, added up.
struct Sums {
    uint64_t n_gaps = 0, gap_ns = 0, last_ready_ns = 0;
    GapParts parts;
    bool exact = true;
    int n_finished = 0;

    void hear(const Event& event) {
        if (event.type == EventType::finished) {
            ++n_finished;
            return;
        }
        if (event.step_token_index > 0) {
            exact = exact && event.gap.total_ns == 0 && event.ready_ns == last_ready_ns;
            return;
        }
        exact = exact && event.gap.sum_of_parts() == event.gap.total_ns;
        if (event.token_index > 0) {
            exact = exact && event.ready_ns - last_ready_ns == event.gap.total_ns;
            ++n_gaps;
            gap_ns += event.gap.total_ns;
            parts += event.gap;
        }
        last_ready_ns = event.ready_ns;
    }
};

RequestOptions some_request(std::mt19937_64& random, const Clock& clock) {
    const auto one_in = [&](uint32_t n) { return random() % n == 0; };
    RequestOptions options = prompt_of(1 + random() % 90, 1 + static_cast<uint32_t>(random() % 30),
                                       static_cast<int32_t>(random() % 5));
    options.priority = static_cast<int32_t>(random() % 3);
    options.turn = one_in(3) ? 2 : 1;
    if (one_in(3)) options.drafts = DraftSource::ngram;
    if (one_in(12)) options.deadline_ns = clock.now_ns() + random() % 3'000'000;
    if (one_in(9)) options.context_policy = ContextPolicy::slide;
    if (options.context_policy == ContextPolicy::slide) options.max_tokens = 150;
    if (one_in(2)) options.slo = Slo{1 + random() % 8'000'000, 0, 1 + random() % 3'000'000, 0};
    return options;
}

}  // namespace

TEST_CASE("of two thousand mixed requests phases are the whole time, and causes the gaps") {
    EngineOptions options;
    options.context_tokens = 128;
    options.kv_tokens = 256;  // so that requests give way
    options.max_sequences = 8;
    options.max_waiting = 24;
    options.chunk_tokens = 32;
    options.page_tokens = 16;
    std::atomic<uint64_t> n_missed{0};
    options.on_slo_miss = [&](const SloMiss&) { ++n_missed; };
    Fixture fixture(options);
    fixture.use_steady_clock();
    fixture.script.next = [](std::span<const int32_t> tokens) {
        return kLetterA + static_cast<int32_t>(tokens.size() % 13 == 0 ? tokens[0] % 26 : tokens.size() % 4);
    };
    Engine& engine = fixture.start();
    std::mt19937_64 random(3);
    struct One {
        Sums sums;
        std::unique_ptr<Request> request;
    };
    std::vector<std::unique_ptr<One>> all;
    uint64_t n_shed = 0;
    while (all.size() < kRequests) {
        auto one = std::make_unique<One>();
        RequestOptions request = some_request(random, fixture.runtime->clock());
        request.on_event = [sums = &one->sums](const Event& event) {
            sums->hear(event);
            return true;
        };
        auto submitted = engine.submit(std::move(request));
        if (!submitted.ok()) {
            REQUIRE(submitted.status().code() == StatusCode::queue_full);
            ++n_shed;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            continue;
        }
        one->request = std::move(*submitted);
        if (random() % 10 == 0) one->request->cancel();
        if (random() % 200 == 0)
            REQUIRE(engine
                        .evaluate(std::vector<int32_t>(40, 3), 39, 8,
                                  [](size_t, std::span<const float>) { return true; })
                        .ok());
        all.push_back(std::move(one));
    }
    uint64_t e2e_ns = 0, counted_gaps = 0, counted_gap_ns = 0, all_ended = 0, prefill_ns = 0, stalled = 0;
    for (const auto& one : all) {
        REQUIRE(one->request->wait(UINT64_MAX).ok());
        const TimingSummary timing = one->request->timing();
        const Timeline timeline = one->request->timeline();
        REQUIRE(timing.queue_ns + timing.prefill_ns + timing.decode_ns + timing.finish_ns == timing.e2e_ns);
        REQUIRE(timing.preempted_ns + timing.handover_ns <= timing.prefill_ns);
        REQUIRE(one->sums.exact);
        REQUIRE(one->sums.n_finished == 1);
        REQUIRE(one->sums.gap_ns == timing.decode_ns);
        REQUIRE(timeline.gaps.total_ns == timing.decode_ns);
        REQUIRE(timeline.gaps.sum_of_parts() == timing.decode_ns);
        REQUIRE(timeline.gaps.page_wait_ns == one->sums.parts.page_wait_ns);
        uint64_t named_ns = 0;
        for (const Stall& stall : timeline.stalled_by.entries()) named_ns += stall.ns;
        REQUIRE(named_ns <= timeline.gaps.other_prefill_ns);
        e2e_ns += timing.e2e_ns;
        prefill_ns += timeline.scheduled_ns ? timing.prefill_ns : 0;
        stalled += timeline.stalled_others_ns;
        ++all_ended;
        if (outcome_of(one->request->finish_reason()) == RequestOutcome::failed) continue;
        counted_gaps += one->sums.n_gaps;
        counted_gap_ns += one->sums.gap_ns;
    }
    CHECK(all_ended == kRequests);
    CHECK(stalled > 0);
    Statistics statistics;
    engine.snapshot(statistics);
    const Totals& totals = statistics.totals;
    uint64_t n_finished = 0;
    for (const uint64_t n : totals.finished) n_finished += n;
    CHECK(n_finished == kRequests);
    CHECK(totals.shed == n_shed);
    CHECK(totals.n_preemptions > 0);
    CHECK(totals.n_slides > 0);
    CHECK(totals.accepted_tokens > 0);
    CHECK(statistics[Series::step_gap].count() == counted_gaps);
    CHECK(statistics[Series::step_gap].sum() == counted_gap_ns);
    CHECK(statistics[Series::itl].sum() == counted_gap_ns);
    CHECK(totals.gaps.total_ns == counted_gap_ns);
    CHECK(totals.gaps.own_compute_ns + totals.gaps.other_prefill_ns + totals.gaps.other_decode_ns +
              totals.gaps.page_wait_ns + totals.gaps.callback_ns + totals.gaps.other_engines_ns +
              totals.gaps.scheduler_ns ==
          counted_gap_ns);
    CHECK(statistics[Series::e2e].sum() + statistics[Series::e2e_cancelled].sum() +
              statistics[Series::e2e_failed].sum() ==
          e2e_ns);
    CHECK(statistics[Series::prefill].sum() == prefill_ns);
    CHECK(statistics[Series::queue].count() == kRequests);
    CHECK(totals.slo_good + totals.slo_missed > 0);
    CHECK(n_missed > 0);
}

}  // namespace takt
