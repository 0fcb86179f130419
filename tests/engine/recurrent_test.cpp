// Sequences with recurrent state have the tokens of sequences that nobody shared, moved, stopped or guessed.
#include "recurrent_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

std::vector<int32_t> first(const std::vector<int32_t>& ids, size_t n) {
    return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n)};
}

}  // namespace

TEST_CASE("a prompt begins at the nearest snapshot of what it shares with an earlier one") {
    const bool computes = GENERATE(false, true);
    RecurrentEngine fixture(computes, small_context()), plain(computes, without_snapshots());
    const std::vector<int32_t> common = recurrent_tokens(100), others = recurrent_tokens(9, 5);
    const auto check = [&](const std::vector<int32_t>& ids, uint32_t cached) {
        const Answer with = answer(fixture.engine(), drawn(ids, 40)),
                     alone = answer(plain.engine(), drawn(ids, 40));
        CHECK(with.ids == alone.ids);
        CHECK(with.cached == cached);
        CHECK(alone.cached == 0);
        return with.ids;
    };
    const std::vector<int32_t> said = check(common, 0);
    check(common, 96);  // its prompt ended a step there
    check(joined(common, others), 96);
    check(joined(first(common, 98), others), 96);
    check(joined(first(common, 90), others), 0);   // pages are known up to 64, but no state there
    check(joined(first(common, 90), others), 96);  // its own now
    // The answer passed a boundary at 128.
    check(joined(joined(common, said), others), 128);
    CHECK(no_pages_in_use(fixture.engine()));
    CHECK(no_pages_in_use(plain.engine()));
}

TEST_CASE("small chunks leave a snapshot at every page they fill") {
    const bool computes = GENERATE(false, true);
    EngineOptions options = small_context();
    options.chunk_tokens = 20;
    RecurrentEngine fixture(computes, options), plain(computes, without_snapshots());
    const std::vector<int32_t> common = recurrent_tokens(100), others = recurrent_tokens(9, 5);
    answer(fixture.engine(), drawn(common, 2));
    for (const size_t n : {90u, 70u, 40u, 20u}) {
        const std::vector<int32_t> ids = joined(first(common, n), others);
        const Answer with = answer(fixture.engine(), drawn(ids, 20));
        CHECK(with.cached == n / 32 * 32);
        CHECK(with.ids == answer(plain.engine(), drawn(ids, 20)).ids);
    }
}

TEST_CASE("snapshots give way, longest unused first, and what was one is computed again") {
    RecurrentEngine fixture(false, small_context(2));  // ten slots, sixteen pages
    const std::vector<int32_t> ids = recurrent_tokens(40);
    const Answer begin = answer(fixture.engine(), drawn(ids, 2));
    const auto again = [&] { return answer(fixture.engine(), drawn(ids, 2)); };
    for (uint32_t i = 1; i <= 7; ++i) answer(fixture.engine(), drawn(recurrent_tokens(40, i), 2));
    CHECK(again().cached == 32);
    for (uint32_t i = 8; i <= 17; ++i) answer(fixture.engine(), drawn(recurrent_tokens(40, i), 2));
    const Answer last = again();
    CHECK(last.cached == 0);
    CHECK(last.ids == begin.ids);
}

TEST_CASE("a fork begins where its source stands, or at the nearest snapshot before") {
    const bool computes = GENERATE(false, true);
    RecurrentEngine fixture(computes, small_context()), plain(computes, without_snapshots());
    const std::vector<int32_t> prompt = recurrent_tokens(70);
    for (const uint32_t n_said : {0u, 10u}) {
        const Answer source = answer(fixture.engine(), drawn(prompt, n_said, true));
        const std::vector<int32_t> all = joined(prompt, source.ids);
        for (const uint32_t n : {0u, 75u, 69u, 64u, 40u}) {
            if (n > all.size()) continue;
            INFO(n_said << " said, fork at " << n);
            RequestOptions ask = drawn({}, 30);
            Heard heard;
            ask.on_event = [&](const Event& event) { return heard.hear(event); };
            auto fork = fixture->fork(*source.request, ask, n);
            REQUIRE(fork.ok());
            REQUIRE((*fork)->wait(UINT64_MAX).ok());
            INFO(heard.message);
            const size_t n_all = n == 0 ? all.size() : n;
            CHECK(heard.ids == answer(plain.engine(), drawn(first(all, n_all), 30)).ids);
            // A row must be left to compute; the first fork at 40 leaves a snapshot at 32.
            const size_t nearest = n > 64 ? 64 : n_said == 0 ? 0 : 32;
            CHECK((*fork)->timing().cached_tokens == (n == 0 ? n_all - 1 : nearest));
        }
    }
    CHECK(no_pages_in_use(fixture.engine()));
}

TEST_CASE("a fork of a running request and its source don't see each other") {
    const bool computes = GENERATE(false, true);
    RecurrentEngine fixture(computes, small_context()), plain(computes, without_snapshots());
    const std::vector<int32_t> prompt = recurrent_tokens(50);
    const std::vector<int32_t> whole = answer(plain.engine(), drawn(prompt, 60)).ids;
    Heard heard;
    std::vector<std::unique_ptr<Request>> forks;
    std::vector<Heard> said(8);
    std::vector<size_t> lengths;
    Request* running = nullptr;
    std::atomic<bool> ready{false};
    RequestOptions ask = drawn(prompt, 60);
    ask.on_event = [&](const Event& event) {
        ready.wait(false);
        if (event.type == EventType::token && event.token_index % 13 == 5) {
            RequestOptions more = drawn({}, 20);
            Heard& own = said[forks.size()];
            more.on_event = [&own](const Event& one) { return own.hear(one); };
            auto fork = fixture->fork(*running, std::move(more), 0);
            if (fork.ok()) forks.push_back(std::move(*fork));
            lengths.push_back(50 + event.token_index + 1);
        }
        return heard.hear(event);
    };
    auto request = fixture->submit(std::move(ask));
    REQUIRE(request.ok());
    running = request->get();
    ready = true;
    ready.notify_all();
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    CHECK(heard.ids == whole);
    REQUIRE(forks.size() == lengths.size());
    for (size_t i = 0; i < forks.size(); ++i) {
        REQUIRE(forks[i]->wait(UINT64_MAX).ok());
        const auto ids = forks[i]->prompt_ids();
        CHECK(std::vector<int32_t>(ids.begin(), ids.end()) == first(joined(prompt, whole), lengths[i]));
        CHECK(forks[i]->finish_reason() == FinishReason::length);
        const Answer alone = answer(plain.engine(), drawn(first(joined(prompt, whole), lengths[i]), 20));
        CHECK(said[i].ids == alone.ids);
    }
}

TEST_CASE("an imported request with recurrent state has the tokens of one that never moved") {
    const bool computes = GENERATE(false, true);
    EngineOptions other = small_context(2);
    other.chunk_tokens = 7;
    other.page_tokens = 16;
    RecurrentEngine here(computes, small_context()), there(computes, other);
    const std::vector<int32_t> prompt = recurrent_tokens(70);
    for (const uint32_t n_before : {0u, 1u, 30u}) {
        const Answer whole = answer(here.engine(), drawn(prompt, n_before + 40));
        const Bytes bytes = exported(here.engine(), drawn(prompt, n_before, true));
        const Imported moved = imported(there.engine(), bytes, drawn({}, 40));
        INFO(moved.status.message() << moved.heard.message);
        REQUIRE(moved.status.ok());
        CHECK(
            moved.heard.ids ==
            std::vector<int32_t>(whole.ids.begin() + static_cast<std::ptrdiff_t>(n_before), whole.ids.end()));
        CHECK(moved.transfer.n_computed == 69 + n_before);
        CHECK(moved.timing.cached_tokens == 69 + n_before);
    }
    CHECK(no_pages_in_use(here.engine()));
    CHECK(no_pages_in_use(there.engine()));
}

TEST_CASE("requests with recurrent state give way and get the tokens of each alone") {
    const bool computes = GENERATE(false, true), reuse = GENERATE(false, true);
    EngineOptions options;
    options.context_tokens = 128;
    options.kv_tokens = 256;
    options.max_sequences = 4;
    options.prefix_reuse = reuse;
    RecurrentEngine fixture(computes, options), plain(computes, without_snapshots());
    std::vector<Heard> heard(4);
    std::vector<std::unique_ptr<Request>> requests;
    std::atomic<bool> all_are_there{false};  // the first one waits with its first token
    for (uint32_t i = 0; i < 4; ++i) {
        RequestOptions ask = drawn(recurrent_tokens(30, i), 90);
        ask.on_event = [&heard, &all_are_there, i](const Event& event) {
            all_are_there.wait(false);
            return heard[i].hear(event);
        };
        requests.push_back(fixture->submit(std::move(ask)).value());
    }
    all_are_there = true;
    all_are_there.notify_all();
    uint32_t n_preemptions = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        REQUIRE(requests[i]->wait(UINT64_MAX).ok());
        INFO(heard[i].message);
        CHECK(heard[i].reason == FinishReason::length);
        CHECK(heard[i].ids == answer(plain.engine(), drawn(recurrent_tokens(30, i), 90)).ids);
        n_preemptions += requests[i]->timeline().n_preemptions;
    }
    CHECK(n_preemptions > 0);
    CHECK(no_pages_in_use(fixture.engine()));
}

}  // namespace takt
