// A fork has the tokens of a request with the same prompt, shares what its source holds, and neither sees
// what the other writes.
#include <random>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

RequestOptions endless(RequestOptions options) {
    options.ignore_eos = true;
    return options;
}

// What a request with these ids as its prompt gives in an engine of its own.
std::vector<int32_t> alone(Engine& other, std::vector<int32_t> ids, RequestOptions options) {
    options.prompt_ids = std::move(ids);
    options.on_event = nullptr;
    return run(other, std::move(options)).ids;
}

std::vector<int32_t> joined(std::vector<int32_t> ids, const std::vector<int32_t>& more, size_t n) {
    ids.insert(ids.end(), more.begin(), more.end());
    ids.resize(n);
    return ids;
}

EngineOptions without_reuse() {
    EngineOptions options;
    options.prefix_reuse = false;
    return options;
}

}  // namespace

TEST_CASE("forks of a kept request share its pages and copy the one they write first") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();
    int n_copies = 0;
    Fixture fixture(without_reuse(), model), plain(without_reuse(), model);
    fixture.script.on_copy = [&] { ++n_copies; };
    Engine &engine = fixture.start(), &other = plain.start();
    RequestOptions begin = endless(prompt_of(70, 10));
    begin.keep_state = true;
    Heard said;
    auto source = submit(engine, begin, said);
    REQUIRE((*source)->wait(UINT64_MAX).ok());
    const std::vector<uint32_t> pinned = pages_in_use(engine);
    for (const uint32_t n : {0u, 80u, 79u, 75u, 65u, 64u, 40u, 1u}) {
        INFO(n << " tokens");
        n_copies = 0;
        RequestOptions ask = endless(prompt_of(0, 40));
        ask.sampler.temperature = n % 2 == 0 ? 0.0f : 1.0f;
        ask.sampler.seed = n;
        Heard heard;
        RequestOptions told = ask;
        told.on_event = [&](const Event& event) { return heard.hear(event); };
        auto fork = engine.fork(**source, std::move(told), n);
        REQUIRE(fork.ok());
        REQUIRE((*fork)->wait(UINT64_MAX).ok());
        const size_t n_all = n == 0 ? 80 : n;
        CHECK(heard.ids == alone(other, joined(begin.prompt_ids, said.ids, n_all), ask));
        CHECK((*fork)->prompt_ids().size() == n_all);
        // Of window groups what lies behind the window is gone, so only the end is sure to be shared.
        if (n == 0 || pinned.size() == 1) {
            CHECK((*fork)->timing().cached_tokens == std::min<size_t>(n_all - 1, 79));
            CHECK(n_copies == static_cast<int>((n_all - 1) % 32 == 0 ? 0 : pinned.size()));
        }
        fork->reset();
        CHECK(pages_in_use(engine) == pinned);
    }
    source->reset();
    CHECK(no_pages_in_use(engine));
}

TEST_CASE("several answers: forks made at the first token, in its callback") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();
    const bool reuse = GENERATE(true, false);
    EngineOptions options;
    options.prefix_reuse = reuse;
    Fixture fixture(options, model), plain(without_reuse(), model);
    Engine &engine = fixture.start(), &other = plain.start();
    std::unique_ptr<Request> first;
    std::vector<std::unique_ptr<Request>> forks;
    std::vector<Heard> heard(5);
    std::atomic<bool> submitted = false;
    RequestOptions ask = endless(prompt_of(70, 50));
    ask.sampler.temperature = 1;
    Status failure;
    RequestOptions told = ask;
    told.on_event = [&](const Event& event) {
        while (!submitted) std::this_thread::yield();
        heard[0].hear(event);
        if (event.type != EventType::token || event.token_index != 0) return true;
        for (size_t i = 1; i < heard.size(); ++i) {
            RequestOptions each = ask;
            each.sampler.seed = i;
            each.on_event = [&heard, i](const Event& e) { return heard[i].hear(e); };
            auto fork = engine.fork(*first, std::move(each), 70);
            if (fork.ok()) {
                forks.push_back(std::move(*fork));
            } else {
                failure = fork.status();
            }
        }
        return true;
    };
    first = std::move(*engine.submit(std::move(told)));
    submitted = true;
    REQUIRE(first->wait(UINT64_MAX).ok());
    INFO(failure.message());
    REQUIRE(forks.size() == 4);
    for (auto& fork : forks) REQUIRE(fork->wait(UINT64_MAX).ok());
    for (size_t i = 0; i < heard.size(); ++i) {
        ask.sampler.seed = i;
        CHECK(heard[i].reason == FinishReason::length);
        CHECK(heard[i].ids == alone(other, ask.prompt_ids, ask));
        if (i > 0) CHECK(forks[i - 1]->timing().cached_tokens >= 64);
    }
    CHECK(no_pages_in_use(engine));
}

TEST_CASE("a published page is never written, also when nobody else holds it any more") {
    Fixture fixture, plain(without_reuse());
    Gate gate;
    Engine &engine = fixture.start(), &other = plain.start();
    RequestOptions begin = endless(prompt_of(100, 0));
    begin.keep_state = true;
    auto source = engine.submit(begin);
    REQUIRE((*source)->wait(UINT64_MAX).ok());
    fixture.hold_steps(gate);
    Heard heard;
    RequestOptions ask = endless(prompt_of(0, 60));
    ask.sampler.temperature = 1;
    RequestOptions told = ask;
    told.on_event = [&](const Event& event) { return heard.hear(event); };
    auto fork = engine.fork(**source, std::move(told), 50);
    gate.wait_for_arrivals(1);
    source->reset();
    gate.open();
    REQUIRE((*fork)->wait(UINT64_MAX).ok());
    CHECK(heard.ids == alone(other, joined(begin.prompt_ids, {}, 50), ask));
    // The source's pages still say what they said.
    RequestOptions again = endless(prompt_of(100, 20));
    auto repeated = engine.submit(again);
    REQUIRE((*repeated)->wait(UINT64_MAX).ok());
    CHECK((*repeated)->timing().cached_tokens == 96);
}

TEST_CASE("forks of forks, of what runs, ended, was preempted or is gone, in few pages and in many") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();
    EngineOptions options;
    options.context_tokens = 200;
    options.kv_tokens = GENERATE(400u, 4096u);
    options.max_sequences = 6;
    options.prefix_reuse = GENERATE(true, false);
    EngineOptions simple = without_reuse();
    simple.context_tokens = options.context_tokens;
    Fixture fixture(options, model), plain(simple, model);
    Engine &engine = fixture.start(), &other = plain.start();
    std::mt19937 random(3);
    for (int round = 0; round < 4; ++round) {
        std::vector<Heard> heard(16);
        std::vector<RequestOptions> asked;
        std::vector<std::unique_ptr<Request>> requests;
        for (size_t i = 0; i < heard.size(); ++i) {
            RequestOptions ask =
                endless(prompt_of(1 + random() % 70, 1 + static_cast<uint32_t>(random() % 50), round));
            ask.sampler.temperature = random() % 2 == 0 ? 0.0f : 1.0f;
            ask.sampler.seed = random();
            RequestOptions told = ask;
            told.on_event = [&heard, i](const Event& event) { return heard[i].hear(event); };
            const size_t of = random() % (i + 1);
            auto request = of == i || requests[of] == nullptr
                               ? engine.submit(std::move(told))
                               : engine.fork(*requests[of], std::move(told), 0);
            if (!request.ok()) {  // its source filled the context
                REQUIRE(request.status().code() == StatusCode::prompt_too_long);
                request = engine.submit(ask);
            }
            const auto ids = (*request)->prompt_ids();
            ask.prompt_ids.assign(ids.begin(), ids.end());
            asked.push_back(ask);
            requests.push_back(std::move(*request));
            if (random() % 3 == 0) REQUIRE(requests.back()->wait(UINT64_MAX).ok());
        }
        for (size_t i = 0; i < heard.size(); ++i) {
            REQUIRE(requests[i]->wait(UINT64_MAX).ok());
            INFO("round " << round << ", request " << i << ": " << heard[i].message);
            if (heard[i].events.empty()) continue;
            REQUIRE(heard[i].status == StatusCode::ok);
            CHECK(heard[i].ids == run(other, asked[i]).ids);
        }
    }
    CHECK(no_pages_in_use(engine));
}

TEST_CASE("a fork of more tokens than there are is refused by number") {
    Fixture fixture;
    Engine& engine = fixture.start();
    auto source = engine.submit(endless(prompt_of(5, 2)));
    REQUIRE((*source)->wait(UINT64_MAX).ok());
    const auto fork = engine.fork(**source, prompt_of(0, 2), 8);
    CHECK(fork.status().code() == StatusCode::invalid_argument);
    CHECK(fork.status().message() == "n_tokens is 8, the request has 7 so far.");
}

}  // namespace takt
