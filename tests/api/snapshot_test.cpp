// Numbers of an engine through the C interface: exact on a clock that the test moves, taken anywhere, kept
// for ever, carried as bytes and told to Prometheus; promises that are broken; what gaps were spent on.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "c_fixture.h"
#include "prometheus_check.h"

using namespace takt_test;

namespace {

constexpr uint64_t kMs = 1'000'000;

struct Destroy {
    void operator()(takt_snapshot* snapshot) const { takt_snapshot_destroy(snapshot); }
};
using Snapshot = std::unique_ptr<takt_snapshot, Destroy>;

Snapshot snapshot_of(const takt_engine* engine) {
    takt_snapshot* snapshot = nullptr;
    takt_engine_snapshot(engine, &snapshot);
    return Snapshot(snapshot);
}

Snapshot difference(const Snapshot& later, const Snapshot& earlier) {
    takt_snapshot* snapshot = nullptr;
    takt_snapshot_difference(later.get(), earlier.get(), &snapshot);
    return Snapshot(snapshot);
}

Snapshot imported(const std::string& bytes, takt_status& status) {
    takt_snapshot* snapshot = nullptr;
    status = takt_snapshot_import(bytes.data(), bytes.size(), &snapshot);
    return Snapshot(snapshot);
}

takt_totals totals_of(const Snapshot& snapshot) {
    takt_totals totals{};
    totals.struct_size = sizeof totals;
    if (takt_snapshot_totals(snapshot.get(), &totals) != TAKT_OK) totals = {};  // no REQUIRE: on any thread
    return totals;
}

takt_histogram histogram_of(const Snapshot& snapshot, std::string_view name) {
    for (size_t i = 0; i < takt_metric_count(); ++i) {
        takt_metric_info info{};
        info.struct_size = sizeof info;
        REQUIRE(takt_metric_get(i, &info) == TAKT_OK);
        if (name != info.name) continue;
        takt_histogram histogram{};
        histogram.struct_size = sizeof histogram;
        REQUIRE(takt_snapshot_histogram(snapshot.get(), i, &histogram) == TAKT_OK);
        return histogram;
    }
    FAIL("there is no metric " << name);
    return {};
}

template <typename Call>
std::string text_of(Call call, const Snapshot& snapshot) {
    size_t bytes = 0;
    if (call(snapshot.get(), nullptr, 0, &bytes) != TAKT_OK) return {};
    std::string text(bytes, '\0');
    if (call(snapshot.get(), text.data(), bytes, &bytes) != TAKT_OK) return {};
    return text;
}
std::string json_of(const Snapshot& snapshot) {
    return text_of(takt_snapshot_json, snapshot);
}
std::string bytes_of(const Snapshot& snapshot) {
    return text_of(takt_snapshot_export, snapshot);
}

struct HandClock {
    std::atomic<uint64_t> ns{1000 * kMs};
    uint64_t tick_ns = 0;  // it goes on by as much whenever it is read
    static uint64_t now(void* self) {
        auto& clock = *static_cast<HandClock*>(self);
        return clock.ns.fetch_add(clock.tick_ns);
    }
};

// Broken promises, as they are told.
struct Misses {
    std::vector<takt_slo_miss> told;
    std::function<void(const takt_slo_miss&)> hook;

    static void on_miss(void* self, const takt_slo_miss* miss) {
        auto& misses = *static_cast<Misses*>(self);
        misses.told.push_back(*miss);
        if (misses.hook) misses.hook(*miss);
    }
    void attach(takt_engine_options& limits) {
        limits.on_slo_miss = on_miss;
        limits.slo_user_data = this;
    }
    uint32_t bounds_of(uint64_t request) const {
        uint32_t bounds = 0;
        for (const takt_slo_miss& miss : told)
            if (miss.request_id == request) bounds |= miss.bound;
        return bounds;
    }
};

// An engine without a thread on a clock that stands still: every time is what the test says.
struct Stepped {
    HandClock clock;
    Misses misses;
    std::unique_ptr<Stack> stack;

    explicit Stepped(takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT, uint64_t tick_ns = 0) {
        takt_runtime_options how = TAKT_RUNTIME_OPTIONS_INIT;
        how.n_threads = 1;
        how.clock = HandClock::now;
        how.clock_user_data = &clock;
        limits.step_driven = 1;
        clock.tick_ns = tick_ns;
        misses.attach(limits);
        stack = std::make_unique<Stack>(limits, &how);
    }
    takt_engine* engine() const { return stack->engine; }
    takt_request* submit(const takt_request_options& ask) const {
        takt_request* request = nullptr;
        REQUIRE(takt_engine_submit(engine(), &ask, &request) == TAKT_OK);
        return request;
    }
    void step_after(uint64_t ns) {
        clock.ns += ns;
        REQUIRE(takt_engine_step(engine(), nullptr) == TAKT_OK);
    }
    takt_timing end(takt_request* request) const {
        takt_timing timing = empty_timing();
        REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
        REQUIRE(takt_request_timing(request, &timing) == TAKT_OK);
        takt_request_destroy(request);
        return timing;
    }
    // Four tokens: the first after 7 ms, then 10, 20 and 30 ms behind each other.
    takt_timing four_tokens(const takt_request_options& ask) {
        takt_request* request = submit(ask);
        for (const uint64_t ms : {7, 10, 20, 30}) step_after(ms * kMs);
        return end(request);
    }
};

uint64_t sum_of_parts(const takt_gap& gap) {
    return gap.own_compute_ns + gap.other_prefill_ns + gap.other_decode_ns + gap.page_wait_ns +
           gap.callback_ns + gap.other_engines_ns + gap.scheduler_ns;
}

takt_slo bounds(uint64_t ttft_ns, uint64_t tpot_ns, uint64_t itl_ns, uint64_t e2e_ns) {
    return {sizeof(takt_slo), ttft_ns, tpot_ns, itl_ns, e2e_ns};
}

std::pair<uint32_t, uint32_t> judged(const takt_timing& timing, const takt_slo& slo) {
    std::pair<uint32_t, uint32_t> verdict;
    CHECK(takt_timing_judge(&timing, &slo, &verdict.first, &verdict.second) == TAKT_OK);
    return verdict;
}

// Some requests on an engine with a thread: answered, cancelled, of one token.
void keep_busy(takt_engine* engine) {
    for (const uint32_t n : {8, 5, 1, 8}) {
        const takt_request_options ask = golden_request(n);
        REQUIRE(takt_engine_generate(engine, &ask, nullptr) == TAKT_OK);
    }
    takt_request_options ask = golden_request(200);
    ask.on_event = [](void*, const takt_event* event) -> int32_t {
        return event->token_index == 2 ? TAKT_STOP : TAKT_CONTINUE;
    };
    takt_request* request = nullptr;
    REQUIRE(takt_engine_submit(engine, &ask, &request) == TAKT_OK);
    REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
    takt_request_destroy(request);
}

}  // namespace

TEST_CASE("On a clock of the caller's the numbers of a snapshot are exact") {
    Stepped run;
    const takt_timing timing = run.four_tokens(golden_request(4));
    CHECK(timing.ttft_ns == 7 * kMs);
    CHECK(timing.tpot_ns == 20.0 * kMs);
    CHECK(timing.gaps.total_ns == 60 * kMs);
    CHECK(timing.gaps.scheduler_ns == 60 * kMs);  // what the caller does between steps
    CHECK(timing.longest_gap.total_ns == 30 * kMs);
    run.clock.ns += 133 * kMs;
    const Snapshot snapshot = snapshot_of(run.engine());
    const takt_totals totals = totals_of(snapshot);
    CHECK(totals.begin_ns == 1000 * kMs);
    CHECK(totals.end_ns == 1200 * kMs);
    CHECK(totals.finished[TAKT_FINISH_LENGTH] == 1);
    CHECK(totals.requests_per_second == Approx(5));
    CHECK(totals.output_tokens_per_second == Approx(20));
    CHECK(totals.smooth_goodput == Approx(20));  // each token came before it was due
    CHECK(totals.smooth_goodput_floored == Approx(20));
    CHECK(totals.step_ns == 0);
    CHECK(std::isnan(totals.decode_tokens_per_second));
    CHECK(totals.gaps.total_ns == 60 * kMs);
    for (const auto& [name, ns] : std::map<std::string, uint64_t>{{"ttft", 7 * kMs},
                                                                  {"ttft_first_turn_prefix_miss", 7 * kMs},
                                                                  {"queue", 7 * kMs},
                                                                  {"prefill", 0},
                                                                  {"decode", 60 * kMs},
                                                                  {"tpot", 20 * kMs},
                                                                  {"e2e", 67 * kMs}}) {
        CAPTURE(name);
        const takt_histogram histogram = histogram_of(snapshot, name);
        CHECK(histogram.count == 1);
        CHECK(histogram.sum == ns);
        CHECK(histogram.lowest == ns);
        CHECK(histogram.highest == ns);
        CHECK(histogram.p50 == static_cast<double>(ns));
    }
    const takt_histogram gaps = histogram_of(snapshot, "step_gap");
    CHECK(gaps.count == 3);
    CHECK(gaps.sum == 60 * kMs);
    CHECK(gaps.lowest == 10 * kMs);
    CHECK(gaps.highest == 30 * kMs);
    CHECK(gaps.mean == 20.0 * kMs);
    CHECK(gaps.p50 == Approx(20.0 * kMs).epsilon(0.004));
    CHECK(gaps.p99 == Approx(30.0 * kMs).epsilon(0.004));
}

TEST_CASE("The difference of two snapshots holds what came between them and nothing else") {
    Stepped run;
    run.four_tokens(golden_request(4));
    const Snapshot before = snapshot_of(run.engine());
    takt_request_options ask = golden_request(4);
    ask.turn = 2;
    run.four_tokens(ask);
    const Snapshot after = snapshot_of(run.engine());
    const Snapshot between = difference(after, before);
    REQUIRE(between != nullptr);
    const takt_totals totals = totals_of(between);
    CHECK(totals.begin_ns == 1067 * kMs);
    CHECK(totals.end_ns == 1134 * kMs);
    CHECK(totals.finished[TAKT_FINISH_LENGTH] == 1);
    CHECK(totals.generated_tokens == 4);
    CHECK(totals.n_steps == 4);
    CHECK(histogram_of(between, "ttft").count == 1);
    CHECK(histogram_of(between, "ttft_later_turns").count == 1);
    CHECK(histogram_of(between, "ttft_first_turn").count == 0);
    CHECK(histogram_of(between, "ttft_first_turn").sum == 0);
    CHECK(histogram_of(after, "ttft").count == 2);
    // Nothing is between a snapshot and itself.
    const Snapshot nothing = difference(after, after);
    REQUIRE(nothing != nullptr);
    CHECK(totals_of(nothing).n_steps == 0);
    CHECK(std::isnan(totals_of(nothing).requests_per_second));
    CHECK(PrometheusCheck(text_of(takt_snapshot_prometheus, nothing)).faults() == std::vector<std::string>{});
    CHECK(difference(before, after) == nullptr);
}

TEST_CASE("Snapshots of engines that happen to have one name aren't earlier than each other") {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.name = "twin";
    Stepped run(limits);
    const Snapshot first = snapshot_of(run.engine());
    limits.step_driven = 1;
    run.clock.ns += 1;
    takt_engine* twin = nullptr;
    REQUIRE(takt_engine_create(run.stack->model, &limits, &twin) == TAKT_OK);
    run.four_tokens(golden_request(4));
    const Snapshot later = snapshot_of(twin);
    CHECK(difference(later, first) == nullptr);
    CHECK(last_error_names("is no earlier snapshot"));
    CHECK(difference(snapshot_of(run.engine()), later) == nullptr);
    REQUIRE(takt_engine_destroy(twin) == TAKT_OK);
}

TEST_CASE("Time in callbacks on the engine's thread is told as such, to the nanosecond") {
    Stepped run;
    takt_request_options ask = golden_request(4);
    std::pair<HandClock*, std::vector<takt_gap>> seen{&run.clock, {}};
    ask.user_data = &seen;
    ask.on_event = [](void* user_data, const takt_event* event) -> int32_t {
        auto& [clock, gaps] = *static_cast<decltype(seen)*>(user_data);
        gaps.push_back(event->gap);
        if (event->type == TAKT_EVENT_TOKEN) clock->ns += 3 * kMs + 1;
        return TAKT_CONTINUE;
    };
    const takt_timing timing = run.four_tokens(ask);
    REQUIRE(seen.second.size() == 5);
    CHECK(seen.second[0].total_ns == 0);
    CHECK(seen.second[4].total_ns == 0);  // the end has no gap
    for (const size_t i : {1, 2, 3}) {
        CHECK(seen.second[i].callback_ns == 3 * kMs + 1);
        CHECK(seen.second[i].scheduler_ns == 10 * i * kMs);
        CHECK(sum_of_parts(seen.second[i]) == seen.second[i].total_ns);
    }
    CHECK(timing.gaps.callback_ns == 9 * kMs + 3);
    CHECK(timing.longest_gap.total_ns == 33 * kMs + 1);
    CHECK(totals_of(snapshot_of(run.engine())).gaps.callback_ns == 9 * kMs + 3);
}

TEST_CASE("A bound that is met to the nanosecond is kept") {
    Stepped run;
    const takt_slo slo = bounds(7 * kMs, 20 * kMs, 30 * kMs, 67 * kMs);
    takt_request_options ask = golden_request(4);
    ask.slo = &slo;
    const takt_timing timing = run.four_tokens(ask);
    CHECK(timing.slo_verdict == TAKT_SLO_GOOD);
    CHECK(timing.slo_broken == 0);
    CHECK(run.misses.told.empty());
    const takt_totals totals = totals_of(snapshot_of(run.engine()));
    CHECK(totals.slo_good == 1);
    CHECK(totals.slo_missed == 0);
    CHECK(totals.good_tokens == 4);
    CHECK(totals.attainment == 1);
    CHECK(totals.attainment_high == 1);
    CHECK(totals.attainment_low == Approx(0.2065).epsilon(0.001));
    CHECK(totals.goodput_requests_per_second == Approx(1 / 0.067));
    CHECK(totals.goodput_tokens_per_second == Approx(4 / 0.067));
}

TEST_CASE("Each broken bound is told once, with the token that was late and how late it was") {
    Stepped run;
    struct Case {
        uint32_t bound;
        takt_slo slo;
        uint64_t at_ms, bound_ns, value_ns, token_index;
    };
    const Case cases[] = {
        {TAKT_BOUND_TTFT, bounds(7 * kMs - 1, 0, 0, 0), 7, 7 * kMs - 1, 7 * kMs, 0},
        {TAKT_BOUND_ITL, bounds(0, 0, 30 * kMs - 1, 0), 67, 30 * kMs - 1, 30 * kMs, 3},
        {TAKT_BOUND_ITL, bounds(0, 0, 20 * kMs - 1, 0), 37, 20 * kMs - 1, 20 * kMs, 2},  // and not again
        {TAKT_BOUND_TPOT, bounds(0, 20 * kMs - 1, 0, 0), 67, 20 * kMs - 1, 20 * kMs, 3},
        // Two gaps of 30 ms in all can't be mended by the third token.
        {TAKT_BOUND_TPOT, bounds(0, 10 * kMs - 1, 0, 0), 37, 10 * kMs - 1, 10 * kMs, 2},
        {TAKT_BOUND_E2E, bounds(0, 0, 0, 67 * kMs - 1), 67, 67 * kMs - 1, 67 * kMs, 3},
        {TAKT_BOUND_E2E, bounds(0, 0, 0, 36 * kMs), 37, 36 * kMs, 37 * kMs, 2},
    };
    uint64_t n_missed = 0;
    for (const Case& c : cases) {
        CAPTURE(c.bound, c.bound_ns);
        run.misses.told.clear();
        const uint64_t begin_ns = run.clock.ns;
        takt_request_options ask = golden_request(4);
        ask.slo = &c.slo;
        const takt_timing timing = run.four_tokens(ask);
        CHECK(timing.slo_verdict == TAKT_SLO_MISSED);
        CHECK(timing.slo_broken == c.bound);
        CHECK(judged(timing, c.slo) == std::pair{timing.slo_verdict, timing.slo_broken});
        REQUIRE(run.misses.told.size() == 1);
        const takt_slo_miss& miss = run.misses.told[0];
        CHECK(miss.struct_size == sizeof miss);
        CHECK(miss.request_id == timing.request_id);
        CHECK(miss.bound == c.bound);
        CHECK(miss.bound_ns == c.bound_ns);
        CHECK(miss.value_ns == c.value_ns);
        CHECK(miss.at_ns == begin_ns + c.at_ms * kMs);
        CHECK(miss.token_index == c.token_index);
        CHECK(miss.reserved == 0);
        CHECK(totals_of(snapshot_of(run.engine())).slo_missed == ++n_missed);
    }
    const takt_totals totals = totals_of(snapshot_of(run.engine()));
    CHECK(totals.slo_broken[0] == 1);
    CHECK(totals.slo_broken[1] == 2);
    CHECK(totals.slo_broken[2] == 2);
    CHECK(totals.slo_broken[3] == 2);
    CHECK(totals.slo_failed == 0);
    CHECK(totals.good_tokens == 0);
}

TEST_CASE("A first token that breaks its bound while it is computed is the token that was late") {
    // The clock goes on whenever it is read, equally in both runs.
    const auto run_with = [](uint64_t ttft_ns, std::vector<takt_slo_miss>& told) {
        Stepped run(TAKT_ENGINE_OPTIONS_INIT, 1);
        const takt_slo slo = bounds(ttft_ns, 0, 0, 0);
        takt_request_options ask = golden_request(2);
        ask.slo = &slo;
        const takt_timing timing = run.end(run.submit(ask));
        told = run.misses.told;
        return timing.ttft_ns;
    };
    std::vector<takt_slo_miss> told;
    const uint64_t ttft_ns = run_with(UINT64_MAX, told);
    CHECK(told.empty());
    CHECK(run_with(ttft_ns, told) == ttft_ns);
    CHECK(told.empty());
    run_with(ttft_ns - 1, told);
    REQUIRE(told.size() == 1);
    CHECK(told[0].bound == TAKT_BOUND_TTFT);
    CHECK(told[0].value_ns == ttft_ns);
    CHECK(told[0].token_index == 0);
}

TEST_CASE("The lateness of tokens that came together is above their bound, though divided among them") {
    // Tokens of each step behind the first; gap_ns passes before the first step that has more than one.
    const auto run_with = [](std::vector<uint32_t>& n_tokens, uint64_t gap_ns, Misses& misses) {
        Stepped run;
        const takt_slo slo = bounds(0, 0, 10, 0);
        takt_request_options ask = golden_request(200);
        ask.drafts = TAKT_DRAFTS_NGRAM;
        ask.slo = &slo;
        takt_request* request = run.submit(ask);
        std::vector<uint32_t> seen;
        for (uint32_t more = 1; more != 0;) {
            const bool is_several = seen.size() < n_tokens.size() && n_tokens[seen.size()] > 1;
            const bool is_first = std::none_of(seen.begin(), seen.end(), [](uint32_t n) { return n > 1; });
            if (is_several && is_first) run.clock.ns += gap_ns;
            takt_timing before = empty_timing(), after = empty_timing();
            REQUIRE(takt_request_timing(request, &before) == TAKT_OK);
            REQUIRE(takt_engine_step(run.engine(), &more) == TAKT_OK);
            REQUIRE(takt_request_timing(request, &after) == TAKT_OK);
            seen.push_back(static_cast<uint32_t>(after.generated_tokens - before.generated_tokens));
        }
        n_tokens = seen;
        run.end(request);
        misses.told = run.misses.told;
    };
    std::vector<uint32_t> n_tokens;
    Misses misses;
    run_with(n_tokens, 0, misses);
    CHECK(misses.told.empty());
    const auto several = std::find_if(n_tokens.begin(), n_tokens.end(), [](uint32_t n) { return n > 1; });
    REQUIRE(several != n_tokens.end());
    const uint64_t at_bound = uint64_t{10} * *several;
    uint64_t first_index = 0;
    for (auto it = n_tokens.begin(); it != several; ++it) first_index += *it;
    run_with(n_tokens, at_bound, misses);
    CHECK(misses.told.empty());
    run_with(n_tokens, at_bound + 1, misses);
    REQUIRE(misses.told.size() == 1);
    CHECK(misses.told[0].bound == TAKT_BOUND_ITL);
    CHECK(misses.told[0].value_ns == 11);
    CHECK(misses.told[0].token_index == first_index);
}

TEST_CASE("A request that asks for no token can't be late with one") {
    Stepped run;
    const takt_slo slo = bounds(kMs, 0, 0, 9 * kMs);
    takt_request_options ask = golden_request(0);
    ask.slo = &slo;
    ask.keep_state = 1;
    takt_request* request = run.submit(ask);
    run.step_after(5 * kMs);
    CHECK(run.end(request).slo_verdict == TAKT_SLO_GOOD);
    CHECK(run.misses.told.empty());
}

TEST_CASE(
    "A promise to a request that waits is broken while it waits, and one to a refused request at once") {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    const takt_slo slo = bounds(5 * kMs, 0, 0, 0);
    const takt_slo none = bounds(0, 0, 0, 0);
    limits.max_sequences = 1;
    limits.max_waiting = 1;
    limits.slo = &slo;
    Stepped run(limits);
    takt_request_options ask = golden_request(4);
    ask.slo = &none;  // a request's own bounds stand for the engine's, and these are none
    takt_request* runs = run.submit(ask);
    ask.slo = nullptr;
    takt_request* waits = run.submit(ask);
    takt_request* refused = nullptr;
    CHECK(takt_engine_submit(run.engine(), &ask, &refused) == TAKT_ERROR_QUEUE_FULL);
    run.step_after(5 * kMs);
    CHECK(run.misses.told.empty());
    run.step_after(1);
    REQUIRE(run.misses.told.size() == 1);
    CHECK(run.misses.told[0].request_id == takt_request_id(waits));
    CHECK(run.misses.told[0].value_ns == 5 * kMs + 1);
    CHECK(run.misses.told[0].token_index == 0);
    takt_timing timing = empty_timing();
    REQUIRE(takt_request_timing(waits, &timing) == TAKT_OK);
    CHECK(timing.scheduled_ns == TAKT_UNDEFINED_NS);
    CHECK(timing.slo_verdict == TAKT_SLO_NOT_JUDGED);  // it still runs
    CHECK(timing.slo_broken == TAKT_BOUND_TTFT);
    CHECK(run.end(runs).slo_verdict == TAKT_SLO_NOT_JUDGED);
    CHECK(run.end(waits).slo_verdict == TAKT_SLO_MISSED);
    CHECK(run.misses.told.size() == 1);
    const takt_totals totals = totals_of(snapshot_of(run.engine()));
    CHECK(totals.shed == 1);
    CHECK(totals.slo_failed == 1);
    CHECK(totals.slo_missed == 2);
    CHECK(totals.slo_good == 0);
    CHECK(totals.attainment == 0);
}

TEST_CASE("A request that goes away is judged only where it was over a bound before") {
    Stepped run;
    const takt_slo slo = bounds(5 * kMs, 0, 0, 0);
    takt_request_options ask = golden_request(4);
    ask.slo = &slo;
    takt_request* in_time = run.submit(ask);
    run.step_after(kMs);
    REQUIRE(takt_request_cancel(in_time) == TAKT_OK);
    run.step_after(kMs);
    const takt_timing went = run.end(in_time);
    CHECK(went.slo_verdict == TAKT_SLO_NOT_JUDGED);
    CHECK(judged(went, slo) == std::pair{went.slo_verdict, went.slo_broken});
    takt_request* late = run.submit(ask);
    run.clock.ns += 6 * kMs;
    REQUIRE(takt_request_cancel(late) == TAKT_OK);
    run.step_after(0);
    const takt_timing timing = run.end(late);
    CHECK(timing.finish_reason == TAKT_FINISH_CANCELLED);
    CHECK(timing.slo_verdict == TAKT_SLO_MISSED);
    CHECK(timing.slo_broken == TAKT_BOUND_TTFT);
    CHECK(judged(timing, slo) == std::pair{timing.slo_verdict, timing.slo_broken});
    CHECK(run.misses.told.size() == 1);
    const takt_totals totals = totals_of(snapshot_of(run.engine()));
    CHECK(totals.slo_missed == 1);
    CHECK(totals.slo_failed == 0);
    CHECK(totals.finished[TAKT_FINISH_CANCELLED] == 2);
}

TEST_CASE("Many requests at once: every bound is told exactly once, from the engine's thread") {
    Misses misses;
    std::set<std::thread::id> threads;
    misses.hook = [&](const takt_slo_miss&) { threads.insert(std::this_thread::get_id()); };
    const takt_slo slo = bounds(1, 1, 1, 1);
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.slo = &slo;
    misses.attach(limits);
    Stack stack(limits);
    std::vector<takt_request*> requests(20);
    const takt_request_options ask = golden_request(8);
    for (takt_request*& request : requests)
        REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    std::map<uint64_t, takt_timing> timings;
    for (takt_request* request : requests) {
        REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
        takt_timing timing = empty_timing();
        REQUIRE(takt_request_timing(request, &timing) == TAKT_OK);
        timings.emplace(takt_request_id(request), timing);
        takt_request_destroy(request);
    }
    REQUIRE(takt_engine_destroy(std::exchange(stack.engine, nullptr)) == TAKT_OK);
    CHECK(timings.size() == 20);
    CHECK(threads.size() == 1);
    CHECK(threads.count(std::this_thread::get_id()) == 0);
    CHECK(misses.told.size() == 80);
    std::set<std::pair<uint64_t, uint32_t>> different;
    for (const takt_slo_miss& miss : misses.told) {
        CHECK(miss.value_ns > miss.bound_ns);
        CHECK(miss.bound_ns == 1);
        CHECK(miss.token_index < 8);
        CHECK(different.emplace(miss.request_id, miss.bound).second);
        REQUIRE(timings.count(miss.request_id) == 1);
        CHECK(miss.at_ns >= timings[miss.request_id].submitted_ns);
        CHECK(miss.at_ns <= timings[miss.request_id].finished_ns);
    }
    for (const auto& [id, timing] : timings) {
        CHECK(misses.bounds_of(id) == timing.slo_broken);
        CHECK(timing.slo_verdict == TAKT_SLO_MISSED);
    }
}

TEST_CASE("Inside a promise's callback what waits is refused, and submit, cancel, times and snapshots work") {
    Misses misses;
    const takt_slo slo = bounds(1, 0, 0, 0), none = bounds(0, 0, 0, 0);
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.slo = &slo;
    misses.attach(limits);
    Stack stack(limits);
    takt_request_options child_ask = golden_request(3), other_ask = golden_request(200);
    child_ask.slo = other_ask.slo = &none;
    takt_request *child = nullptr, *other = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &other_ask, &other) == TAKT_OK);
    std::vector<takt_status> refused, allowed;
    misses.hook = [&](const takt_slo_miss&) {
        takt_event event = empty_event();
        takt_timing timing = empty_timing();
        refused = {takt_engine_generate(stack.engine, &child_ask, nullptr),
                   takt_engine_evaluate(
                       stack.engine, golden_prompt().data(), 3, 0, 0,
                       [](void*, size_t, const float*, size_t) -> int32_t { return 0; }, nullptr),
                   takt_request_wait(other, UINT64_MAX), takt_request_next(other, UINT64_MAX, &event),
                   takt_engine_destroy(stack.engine)};
        allowed = {takt_engine_submit(stack.engine, &child_ask, &child), takt_request_timing(other, &timing),
                   takt_request_cancel(other),
                   snapshot_of(stack.engine) != nullptr ? TAKT_OK : TAKT_ERROR_INTERNAL};
    };
    const takt_request_options ask = golden_request(2);
    REQUIRE(takt_engine_generate(stack.engine, &ask, nullptr) == TAKT_OK);
    CHECK(refused == std::vector<takt_status>(5, TAKT_ERROR_INVALID_STATE));
    CHECK(allowed == std::vector<takt_status>(4, TAKT_OK));
    CHECK(misses.told.size() == 1);
    REQUIRE(child != nullptr);
    CHECK(takt_request_wait(child, UINT64_MAX) == TAKT_OK);
    CHECK(takt_request_wait(other, UINT64_MAX) == TAKT_OK);
    takt_request_destroy(child);
    takt_request_destroy(other);
}

TEST_CASE("Inside a promise's callback of an engine without a thread nothing may step it") {
    Stepped run;
    const takt_slo slo = bounds(1, 0, 0, 0), none = bounds(0, 0, 0, 0);
    takt_request_options ask = golden_request(2);
    ask.slo = &none;
    takt_request* other = run.submit(ask);
    std::vector<takt_status> refused;
    run.misses.hook = [&](const takt_slo_miss&) {
        takt_event event = empty_event();
        refused = {takt_engine_step(run.engine(), nullptr), takt_engine_generate(run.engine(), &ask, nullptr),
                   takt_request_wait(other, UINT64_MAX), takt_request_next(other, UINT64_MAX, &event),
                   takt_engine_destroy(run.engine())};
    };
    ask.slo = &slo;
    takt_request* late = run.submit(ask);
    run.step_after(kMs);
    CHECK(refused == std::vector<takt_status>(5, TAKT_ERROR_INVALID_STATE));
    CHECK(run.end(late).generated_tokens == 2);
    CHECK(run.end(other).generated_tokens == 2);
}

TEST_CASE("A request may be destroyed by the callback that tells of its promise") {
    for (const takt_slo& slo : {bounds(1, 0, 0, 0), bounds(0, 1, 0, 0), bounds(0, 0, 1, 0),
                                bounds(0, 0, 0, 1), bounds(0, 0, 0, 67 * kMs - 1)}) {
        for (const bool cancels_all : {false, true}) {
            Stepped run;
            std::pair<int, int> told;  // ends and releases
            takt_request_options ask = golden_request(4);
            ask.slo = &slo;
            ask.user_data = &told;
            ask.on_event = [](void* user_data, const takt_event* event) -> int32_t {
                static_cast<decltype(told)*>(user_data)->first += event->type == TAKT_EVENT_FINISHED;
                return TAKT_CONTINUE;
            };
            ask.on_release = [](void* user_data) { ++static_cast<decltype(told)*>(user_data)->second; };
            takt_request* request = run.submit(ask);
            run.misses.hook = [&](const takt_slo_miss&) {
                if (cancels_all) CHECK(takt_engine_cancel_all(run.engine()) == TAKT_OK);
                takt_request_destroy(std::exchange(request, nullptr));
            };
            for (const uint64_t ms : {7, 10, 20, 30, 1}) run.step_after(ms * kMs);
            CHECK(request == nullptr);
            CHECK(run.misses.told.size() == 1);
            CHECK(told == std::pair{1, 1});
            const takt_totals totals = totals_of(snapshot_of(run.engine()));
            CHECK(totals.finished[TAKT_FINISH_CANCELLED] + totals.finished[TAKT_FINISH_LENGTH] == 1);
            CHECK(totals.slo_missed == 1);
        }
    }
}

TEST_CASE("A promise's callback that throws is called no more, and nothing else ends") {
    Misses misses;
    misses.hook = [](const takt_slo_miss&) { throw std::runtime_error("not mine"); };
    const takt_slo slo = bounds(1, 1, 1, 1);
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.slo = &slo;
    misses.attach(limits);
    std::atomic<int> n_lines{0};
    takt_runtime_options how = TAKT_RUNTIME_OPTIONS_INIT;
    how.log_user_data = &n_lines;
    how.log = [](void* user_data, int32_t, const char* text, size_t text_bytes) {
        const bool is_it = std::string_view(text, text_bytes).find("SLO callback") != std::string_view::npos;
        if (is_it) ++*static_cast<std::atomic<int>*>(user_data);
    };
    Stack stack(limits, &how);
    for (int i = 0; i < 2; ++i) {
        const takt_request_options ask = golden_request(8);
        takt_timing timing = empty_timing();
        REQUIRE(takt_engine_generate(stack.engine, &ask, &timing) == TAKT_OK);
        CHECK(timing.finish_reason == TAKT_FINISH_LENGTH);
        CHECK(timing.slo_broken == 15);
    }
    REQUIRE(takt_engine_destroy(std::exchange(stack.engine, nullptr)) == TAKT_OK);
    CHECK(misses.told.size() == 1);
    CHECK(n_lines == 1);
}

TEST_CASE("A snapshot stays as it is when engine, model and runtime are gone") {
    Snapshot before, after;
    std::string json, bytes, prometheus;
    {
        Stack stack;
        before = snapshot_of(stack.engine);
        keep_busy(stack.engine);
        after = snapshot_of(stack.engine);
        json = json_of(after);
        bytes = bytes_of(after);
        prometheus = text_of(takt_snapshot_prometheus, after);
        keep_busy(stack.engine);
        CHECK(json_of(after) == json);
    }
    CHECK(json.size() > 1000);
    CHECK(json_of(after) == json);
    CHECK(bytes_of(after) == bytes);
    CHECK(text_of(takt_snapshot_prometheus, after) == prometheus);
    const Snapshot between = difference(after, before);
    REQUIRE(between != nullptr);
    before.reset();
    after.reset();
    const takt_totals totals = totals_of(between);
    CHECK(totals.finished[TAKT_FINISH_LENGTH] == 4);
    CHECK(totals.finished[TAKT_FINISH_CANCELLED] == 1);
    CHECK(totals.generated_tokens == 25);
    CHECK(histogram_of(between, "ttft").count == 4);
    CHECK(histogram_of(between, "ttft_cancelled").count == 1);
    CHECK(histogram_of(between, "e2e_cancelled").count == 1);
}

TEST_CASE("A snapshot can be taken in every callback, and knows of what it was told") {
    struct Seen {
        takt_engine* engine = nullptr;
        uint64_t n_steps_behind = 0, n_finished_behind = 0, n_steps = 0, n_finished = 0;
    } seen;
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.step_user_data = &seen;
    limits.on_step = [](void* user_data, const takt_step* step) {
        auto& self = *static_cast<Seen*>(user_data);
        ++self.n_steps;
        const Snapshot snapshot = snapshot_of(self.engine);  // none while the engine is being destroyed
        self.n_steps_behind += snapshot != nullptr && totals_of(snapshot).n_steps <= step->index;
    };
    Stack stack(limits);
    seen.engine = stack.engine;
    takt_request_options ask = golden_request(8);
    ask.user_data = &seen;
    ask.on_event = [](void* user_data, const takt_event* event) -> int32_t {
        auto& self = *static_cast<Seen*>(user_data);
        const takt_totals totals = totals_of(snapshot_of(self.engine));
        if (event->type == TAKT_EVENT_FINISHED) {
            ++self.n_finished;
            self.n_finished_behind += totals.finished[TAKT_FINISH_LENGTH] != self.n_finished;
        }
        return TAKT_CONTINUE;
    };
    for (int i = 0; i < 3; ++i) {
        takt_request* request = nullptr;
        REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
        REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
        takt_request_destroy(request);
    }
    REQUIRE(takt_engine_generate(stack.engine, &ask, nullptr) == TAKT_OK);
    REQUIRE(takt_engine_destroy(std::exchange(stack.engine, nullptr)) == TAKT_OK);
    CHECK(seen.n_steps >= 32);
    CHECK(seen.n_steps_behind == 0);
    CHECK(seen.n_finished == 4);
    CHECK(seen.n_finished_behind == 0);
}

TEST_CASE("Four threads take snapshots while requests run, and none of them goes back") {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    const takt_slo slo = bounds(1, 0, 0, 0);
    limits.slo = &slo;
    limits.trace_steps = 16;
    Stack stack(limits);
    std::atomic<bool> done{false};
    std::atomic<int> n_taken{0}, n_faults{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < 4; ++r) {
        readers.emplace_back([&, r] {
            Snapshot last = snapshot_of(stack.engine);
            do {
                Snapshot now = snapshot_of(stack.engine);
                const Snapshot between = now && last ? difference(now, last) : nullptr;
                if (!between || totals_of(now).generated_tokens < totals_of(last).generated_tokens)
                    ++n_faults;
                if (r == 0 && json_of(now).empty()) ++n_faults;
                if (r == 1 && bytes_of(now).empty()) ++n_faults;
                if (r == 2 && text_of(takt_snapshot_prometheus, now).empty()) ++n_faults;
                const auto ignore = [](void*, const char*, size_t) {};
                if (r == 3 && takt_engine_trace(stack.engine, ignore, nullptr) != TAKT_OK) ++n_faults;
                last = std::move(now);
                ++n_taken;
            } while (!done);
        });
    }
    const takt_request_options ask = golden_request(8);
    for (int round = 0; round < 6; ++round) {
        std::vector<takt_request*> requests(5);
        for (takt_request*& request : requests)
            REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
        for (takt_request* request : requests) {
            REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
            takt_request_destroy(request);
        }
    }
    while (n_taken < 8) std::this_thread::yield();
    done = true;
    for (std::thread& reader : readers) reader.join();
    CHECK(n_faults == 0);
    const Snapshot snapshot = snapshot_of(stack.engine);
    CHECK(totals_of(snapshot).finished[TAKT_FINISH_LENGTH] == 30);
    CHECK(totals_of(snapshot).generated_tokens == 240);
    CHECK(totals_of(snapshot).slo_missed == 30);
    CHECK(histogram_of(snapshot, "ttft").count == 30);
}

TEST_CASE("The parts of every gap add up, and all gaps together are the time of decoding") {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.chunk_tokens = 16;
    Stack stack(limits);
    const std::vector<int32_t> long_prompt(100, 7);
    std::vector<takt_request*> requests;
    for (int i = 0; i < 6; ++i) {  // prompts join those that already answer
        takt_request_options ask = golden_request(40);
        if (i % 2 == 1) {
            ask.prompt_ids = long_prompt.data();
            ask.prompt_ids_count = long_prompt.size() - static_cast<size_t>(i);
            ask.drafts = TAKT_DRAFTS_NGRAM;
        }
        takt_request* request = nullptr;
        REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
        requests.push_back(request);
    }
    std::set<uint64_t> ids;
    for (takt_request* request : requests) ids.insert(takt_request_id(request));
    CHECK(ids.size() == requests.size());
    CHECK(ids.count(0) == 0);
    for (takt_request* request : requests) {
        takt_event event = empty_event();
        uint64_t total = 0, longest = 0, n_gaps = 0, n_wrong = 0, own = 0;
        do {
            REQUIRE(takt_request_next(request, UINT64_MAX, &event) == TAKT_OK);
            const takt_gap& gap = event.gap;
            n_wrong += event.request_id != takt_request_id(request);
            n_wrong += sum_of_parts(gap) != gap.total_ns;
            n_wrong += gap.stalled_by_ns > gap.other_prefill_ns;
            n_wrong += (gap.stalled_by_id == 0) != (gap.stalled_by_ns == 0);
            n_wrong += gap.stalled_by_id == event.request_id;
            n_wrong += gap.total_ns > 0 && (event.type != TAKT_EVENT_TOKEN || event.token_index == 0 ||
                                            event.step_token_index != 0);
            total += gap.total_ns;
            own += gap.own_compute_ns;
            longest = std::max(longest, gap.total_ns);
            n_gaps += gap.total_ns > 0;
        } while (event.type == TAKT_EVENT_TOKEN);
        CHECK(n_wrong == 0);
        takt_timing timing = empty_timing();
        REQUIRE(takt_request_timing(request, &timing) == TAKT_OK);
        CHECK(timing.request_id == takt_request_id(request));
        CHECK(timing.generated_tokens == 40);
        CHECK(timing.gaps.total_ns == timing.decode_ns);
        CHECK(timing.gaps.total_ns == total);
        CHECK(timing.gaps.own_compute_ns == own);
        CHECK(sum_of_parts(timing.gaps) == total);
        CHECK(timing.longest_gap.total_ns == longest);
        CHECK(sum_of_parts(timing.longest_gap) == longest);
        CHECK(timing.step_gap_ns.count == n_gaps);
        uint64_t stalled = 0;
        for (const takt_stall& stall : timing.stalled_by) {
            stalled += stall.ns;
            CHECK((stall.request_id == 0 || ids.count(stall.request_id) == 1));
        }
        CHECK(stalled <= timing.gaps.other_prefill_ns);
        takt_request_destroy(request);
    }
    const takt_totals totals = totals_of(snapshot_of(stack.engine));
    CHECK(sum_of_parts(totals.gaps) == totals.gaps.total_ns);
    CHECK(histogram_of(snapshot_of(stack.engine), "step_gap").sum == totals.gaps.total_ns);
}

TEST_CASE("Forked and imported requests have numbers of their own") {
    Stack stack;
    takt_request_options ask = golden_request(1);
    ask.keep_state = 1;
    takt_request *source = nullptr, *fork = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &source) == TAKT_OK);
    REQUIRE(takt_request_wait(source, UINT64_MAX) == TAKT_OK);
    const takt_request_options next = golden_request(2);
    REQUIRE(takt_request_fork(source, &next, 0, &fork) == TAKT_OK);
    takt_event event = empty_event();
    do {
        REQUIRE(takt_request_next(fork, UINT64_MAX, &event) == TAKT_OK);
        CHECK(event.request_id == takt_request_id(fork));
    } while (event.type == TAKT_EVENT_TOKEN);
    CHECK(takt_request_id(fork) != takt_request_id(source));
    takt_timing timing = empty_timing();
    REQUIRE(takt_engine_generate(stack.engine, &next, &timing) == TAKT_OK);
    CHECK(timing.request_id > takt_request_id(fork));
    takt_request_destroy(source);
    takt_request_destroy(fork);
}

TEST_CASE("Exported numbers come back the same, and changed or cut ones don't come back at all") {
    Stack stack;
    keep_busy(stack.engine);
    const Snapshot snapshot = snapshot_of(stack.engine);
    const std::string whole = bytes_of(snapshot);
    takt_status status = TAKT_ERROR_INTERNAL;
    const Snapshot same = imported(whole, status);
    REQUIRE(status == TAKT_OK);
    CHECK(bytes_of(same) == whole);
    CHECK(json_of(same) == json_of(snapshot));
    size_t n_accepted = 0, n_other = 0;
    const auto try_import = [&](const std::string& bytes) {
        n_accepted += imported(bytes, status) != nullptr;
        n_other += status != TAKT_ERROR_STATE_CORRUPT && status != TAKT_ERROR_STATE_MISMATCH;
    };
    for (size_t i = 0; i < whole.size(); ++i) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
        try_import(changed);
        try_import(whole.substr(0, i));
    }
    try_import(whole + '\0');
    try_import(whole + whole);
    try_import(whole.substr(1));
    CHECK(n_accepted == 0);
    CHECK(n_other == 0);
}

TEST_CASE("Imported numbers can be compared and put together as those of this process") {
    Stepped run;
    run.four_tokens(golden_request(4));
    takt_status status = TAKT_OK;
    const Snapshot before = imported(bytes_of(snapshot_of(run.engine())), status);
    run.four_tokens(golden_request(4));
    const Snapshot after = imported(bytes_of(snapshot_of(run.engine())), status);
    const Snapshot between = difference(after, before);
    REQUIRE(between != nullptr);
    CHECK(totals_of(between).n_steps == 4);
    takt_snapshot* both = nullptr;
    REQUIRE(takt_snapshot_merge(between.get(), after.get(), &both) == TAKT_OK);
    const Snapshot merged(both);
    CHECK(totals_of(merged).n_steps == 12);
    CHECK(histogram_of(merged, "step_gap").count == 9);
    CHECK(histogram_of(merged, "step_gap").sum == 180 * kMs);
    const Snapshot again = imported(bytes_of(merged), status);
    CHECK(status == TAKT_OK);
    CHECK(json_of(again) == json_of(merged));
}

TEST_CASE("Prometheus' text is well-formed whatever the engine is called and has done") {
    const std::string name = "a\"b\\c\nd e{}#";
    const takt_slo slo = bounds(1, 0, 0, 10'000'000 * kMs);
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.name = name.c_str();
    limits.slo = &slo;
    Stack stack(limits);
    const Snapshot fresh = snapshot_of(stack.engine);
    const PrometheusCheck empty(text_of(takt_snapshot_prometheus, fresh));
    CHECK(empty.faults() == std::vector<std::string>{});
    keep_busy(stack.engine);
    const Snapshot busy = snapshot_of(stack.engine);
    const PrometheusCheck text(text_of(takt_snapshot_prometheus, busy));
    CHECK(text.faults() == std::vector<std::string>{});
    REQUIRE_FALSE(text.samples().empty());
    for (const PrometheusSample& sample : text.samples()) REQUIRE(sample.labels.at("engine") == name);
    CHECK(text.sum("takt_request_success_total", "finished_reason", "length") == 4);
    CHECK(text.sum("takt_request_success_total", "finished_reason", "cancelled") == 1);
    CHECK(text.sum("takt_request_success_total") == 5);
    CHECK(text.sum("takt_generation_tokens_total") == 25);
    CHECK(text.sum("takt_time_to_first_token_seconds_count", "outcome", "ok") == 4);
    CHECK(text.sum("takt_time_to_first_token_seconds_count") == 5);
    CHECK(text.sum("takt_request_time_per_output_token_seconds_count", "outcome", "ok") == 3);
    CHECK(text.sum("takt_slo_requests_total", "verdict", "missed") == 5);
    CHECK(text.sum("takt_num_requests_running") == 0);
    for (size_t i = 0; i < takt_metric_count(); ++i) {
        takt_metric_info info{};
        info.struct_size = sizeof info;
        REQUIRE(takt_metric_get(i, &info) == TAKT_OK);
        CAPTURE(info.prometheus_name);
        CHECK(text.types().count(info.prometheus_name) == 1);
        CHECK(text.types().at(info.prometheus_name) == "histogram");
    }
    takt_snapshot* both = nullptr;
    REQUIRE(takt_snapshot_merge(busy.get(), fresh.get(), &both) == TAKT_OK);
    const Snapshot merged(both);
    CHECK(PrometheusCheck(text_of(takt_snapshot_prometheus, merged)).faults() == std::vector<std::string>{});
    // And back through bytes.
    takt_status status = TAKT_OK;
    const Snapshot again = imported(bytes_of(busy), status);
    CHECK(json_of(again) == json_of(busy));
}

TEST_CASE("A name that isn't UTF-8 leaves the JSON and Prometheus' text in UTF-8") {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.name = "caf\xe9\t\x01";
    Stack stack(limits);
    const Snapshot snapshot = snapshot_of(stack.engine);
    CHECK(json_of(snapshot).find('\xe9') == std::string::npos);
    const std::string text = text_of(takt_snapshot_prometheus, snapshot);
    CHECK(text.find('\xe9') == std::string::npos);
    CHECK(PrometheusCheck(text).faults() == std::vector<std::string>{});
    takt_status status = TAKT_ERROR_INTERNAL;
    const Snapshot again = imported(bytes_of(snapshot), status);
    REQUIRE(status == TAKT_OK);
    CHECK(json_of(again) == json_of(snapshot));
}

TEST_CASE("Engines of one name, begun at the same moment, are told apart") {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.name = "same";
    Stepped one(limits), other(limits);
    const Snapshot before = snapshot_of(one.engine());
    const Snapshot later = snapshot_of(other.engine());
    takt_snapshot* difference = nullptr;
    CHECK(takt_snapshot_difference(later.get(), before.get(), &difference) == TAKT_ERROR_INVALID_ARGUMENT);
    CHECK(difference == nullptr);
    const Snapshot again = snapshot_of(one.engine());
    REQUIRE(takt_snapshot_difference(again.get(), before.get(), &difference) == TAKT_OK);
    takt_snapshot_destroy(difference);
}

TEST_CASE("A trace's callback may throw, take snapshots and destroy the engine") {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.trace_steps = 4;
    Stack stack(limits);
    keep_busy(stack.engine);
    CHECK(takt_engine_trace(
              stack.engine, [](void*, const char*, size_t) { throw std::runtime_error("out of paper"); },
              nullptr) == TAKT_ERROR_INTERNAL);
    CHECK(last_error_names("out of paper"));
    struct Got {
        Stack& stack;
        takt_status destroyed = TAKT_ERROR_INTERNAL;
        uint64_t n_finished = 0;
    } got{stack};
    REQUIRE(takt_engine_trace(
                stack.engine,
                [](void* user_data, const char*, size_t) {
                    auto& self = *static_cast<Got*>(user_data);
                    self.n_finished = totals_of(snapshot_of(self.stack.engine)).finished[TAKT_FINISH_LENGTH];
                    self.destroyed = takt_engine_destroy(self.stack.engine);
                },
                &got) == TAKT_OK);
    CHECK(got.n_finished == 4);
    REQUIRE(got.destroyed == TAKT_OK);
    stack.engine = nullptr;
}
