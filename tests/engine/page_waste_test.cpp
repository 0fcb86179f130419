// The waste of pages against numbers made by hand, and what an engine tells of itself.
#include "engine/page_waste.h"

#include <array>
#include <cmath>

#include "engine/sequence_pages.h"
#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

std::vector<StateGroup> groups(std::vector<uint32_t> windows) {
    std::vector<StateGroup> all;
    for (const uint32_t window : windows) all.push_back({"layers", window});
    return all;
}

std::vector<int32_t> ids_up_to(int32_t n) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < n; ++i) ids.push_back(i);
    return ids;
}

void check_use(const PageUse& use, double pages, double tokens) {
    CHECK(use.pages == Approx(pages));
    CHECK(use.tokens == Approx(tokens));
}

}  // namespace

TEST_CASE("a step counts by its pages: steps of 2 pages with 20 of 32 tokens and of 6 with 76 of 96") {
    PageWaste waste(16);
    CHECK(std::isnan(waste.value()));
    waste.record({});
    CHECK(std::isnan(waste.value()));
    waste.record({2, 20});
    CHECK(waste.value() == Approx(12.0 / 32));
    waste.record({6, 76});
    CHECK(waste.value() == Approx(32.0 / 128));  // (12 + 20) / (32 + 96)
}

TEST_CASE("a sequence uses the pages it covers, and in them what is computed") {
    const auto layers = groups({0});
    std::vector<PagePool> pools;
    pools.emplace_back(8, 16);
    SequencePages pages(layers, pools, 16, 100, 64);
    check_use(pages.use(0), 0, 0);
    REQUIRE(pages.cover(0, 40));
    check_use(pages.use(0), 3, 0);  // a prompt before its first step
    check_use(pages.use(17), 3, 17);
    check_use(pages.use(40), 3, 40);
    check_use(pages.use(48), 3, 48);
}

TEST_CASE("shared pages count once among all that hold them") {
    const auto layers = groups({0});
    std::vector<PagePool> pools;
    pools.emplace_back(16, 16);
    const std::vector<int32_t> ids = ids_up_to(70);
    SequencePages first(layers, pools, 16, 100, 64), second(layers, pools, 16, 100, 64);
    REQUIRE(first.cover(0, 40));
    first.publish(ids, 40);
    REQUIRE(second.reuse(ids) == 32);
    REQUIRE(second.cover(32, 70));
    // Two pages of 16 shared, one of the first's own with 8, three of the second's with 38.
    PageUse both = first.use(40);
    check_use(both, 2.0 / 2 + 1, 32.0 / 2 + 8);
    both += second.use(70);
    check_use(both, 6, 32 + 8 + 38);
    first.release();
    check_use(second.use(70), 5, 70);
}

TEST_CASE("groups with a window are left out: theirs come and go") {
    const auto layers = groups({0, 32});
    std::vector<PagePool> pools;
    for (int i = 0; i < 2; ++i) pools.emplace_back(16, 16);
    SequencePages pages(layers, pools, 16, 200, 16);
    REQUIRE(pages.cover(0, 16));
    REQUIRE(pages.cover(90, 100));
    check_use(pages.use(100), 7, 100);
}

TEST_CASE("an engine counts its steps, tokens, pages and their waste") {
    EngineOptions options;
    options.max_sequences = 3;
    Fixture fixture(options);
    Engine& engine = fixture.start();
    EngineStatistics before = engine.statistics();
    CHECK(before.n_steps == 0);
    CHECK(std::isnan(before.page_waste));
    CHECK(before.pages_total > 0);
    CHECK(before.max_sequences == 3);
    RequestOptions request = prompt_of(31, 4);
    request.ignore_eos = true;
    run(engine, request);
    const EngineStatistics first = engine.statistics();
    // Steps end with 31, 32, 33 and 34 tokens in 1, 1, 2 and 2 pages of 32.
    CHECK(first.page_waste == Approx(1 - (31 + 32 + 33 + 34) / (6 * 32.0)));
    CHECK(first.n_steps == 4);
    CHECK(first.prompt_tokens_computed == 31);
    CHECK(first.prompt_tokens_cached == 0);
    CHECK(first.generated_tokens == 4);
    CHECK(first.pages_in_use == 0);
    CHECK(first.pages_cached == 1);
    CHECK(first.page_tokens == 32);
    run(engine, prompt_of(33, 1));
    const EngineStatistics second = engine.statistics();
    CHECK(second.prompt_tokens_computed == 31 + 33);  // its first page ends with another token
    run(engine, prompt_of(33, 1));
    const EngineStatistics third = engine.statistics();
    CHECK(third.prompt_tokens_computed == 31 + 33 + 1);
    CHECK(third.prompt_tokens_cached == 32);
    CHECK(third.n_preemptions == 0);
}

TEST_CASE("a prompt takes its pages as it is computed: only the last of each sequence is in part empty") {
    EngineOptions options;
    options.chunk_tokens = 16;
    options.page_tokens = 16;
    options.prefix_reuse = false;
    Fixture fixture(options);
    Engine& engine = fixture.start();
    run(engine, prompt_of(160, 1));
    CHECK(engine.statistics().page_waste == Approx(0));  // ten steps of whole pages
    Gate gate;
    fixture.hold_steps(gate);
    std::vector<Heard> heard(4);
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 4; ++i) {
        RequestOptions request = prompt_of(150 + static_cast<size_t>(i), 80, i);
        request.ignore_eos = true;
        requests.push_back(std::move(*submit(engine, request, heard[static_cast<size_t>(i)])));
    }
    gate.open();
    for (const auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
    const double waste = engine.statistics().page_waste;
    CHECK(waste > 0);
    CHECK(waste < 15.0 / 160);
}

TEST_CASE("who waits and who runs is told while it is so, and nothing is left at the end") {
    EngineOptions options;
    options.max_sequences = 2;
    options.prefix_reuse = false;
    Fixture fixture(options);
    Engine* engine = nullptr;
    Gate gate;
    fixture.hold_steps(gate);
    engine = &fixture.start();
    std::vector<std::unique_ptr<Request>> requests;
    std::vector<EngineStatistics> seen(5);
    for (size_t i = 0; i < seen.size(); ++i) {
        RequestOptions request = prompt_of(10, 3, static_cast<int32_t>(i));
        request.ignore_eos = true;
        request.on_event = [&, i](const Event& event) {
            if (event.type == EventType::finished) seen[i] = engine->statistics();
            return true;
        };
        requests.push_back(std::move(*engine->submit(std::move(request))));
        if (i == 0) gate.wait_for_arrivals(1);
    }
    gate.open();
    for (const auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
    // The first is alone, as the others came during its first step; after its end one runs and three wait.
    CHECK(seen[0].n_running == 1);
    CHECK(seen[0].n_waiting == 3);
    CHECK(seen[4].n_running == 0);
    CHECK(seen[4].n_waiting == 0);
    CHECK(seen[4].pages_in_use == 0);
    CHECK(seen[4].generated_tokens == 15);
    CHECK(engine->statistics().pages_cached == 0);
}

TEST_CASE("preemptions are counted") {
    EngineOptions options;
    options.context_tokens = 128;
    options.kv_tokens = 128;
    options.max_sequences = 2;
    Fixture fixture(options);
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    std::vector<Heard> heard(2);
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 2; ++i) {
        RequestOptions request = prompt_of(30, 90, i);
        request.ignore_eos = true;
        requests.push_back(std::move(*submit(engine, request, heard[static_cast<size_t>(i)])));
    }
    gate.open();
    uint64_t preemptions = 0;
    for (const auto& request : requests) {
        REQUIRE(request->wait(UINT64_MAX).ok());
        preemptions += request->timeline().n_preemptions;
    }
    CHECK(preemptions > 0);
    CHECK(engine.statistics().n_preemptions == preemptions);
    CHECK(engine.statistics().generated_tokens == 180);
}

}  // namespace takt
