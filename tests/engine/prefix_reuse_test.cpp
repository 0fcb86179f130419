// Nothing is computed twice: prompts that begin alike share pages, and tokens are those of a request alone.
#include <random>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

// A prompt of a common start and an end of its own.
RequestOptions with_start(size_t n_common, size_t n_own, int salt, uint32_t max_tokens) {
    RequestOptions options = prompt_of(n_common, max_tokens, 3);
    const RequestOptions own = prompt_of(n_own, 0, 100 + salt);
    options.prompt_ids.insert(options.prompt_ids.end(), own.prompt_ids.begin(), own.prompt_ids.end());
    options.ignore_eos = true;
    return options;
}

struct Outcome {
    std::vector<int32_t> ids;
    TimingSummary timing;
};

Outcome run_one(Engine& engine, RequestOptions options) {
    Heard heard;
    options.on_event = [&](const Event& event) { return heard.hear(event); };
    auto request = engine.generate(std::move(options));
    REQUIRE(request.ok());
    INFO(heard.message);
    REQUIRE(heard.reason == FinishReason::length);
    for (const Event& event : heard.events) CHECK(event.cached_tokens == (*request)->timing().cached_tokens);
    return {heard.ids, (*request)->timing()};
}

EngineOptions without_reuse() {
    EngineOptions options;
    options.prefix_reuse = false;
    return options;
}

}  // namespace

TEST_CASE("a prompt that begins as an earlier one computes what is new, by whole pages") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();
    Fixture fixture({}, model), plain(without_reuse(), model);
    Engine &engine = fixture.start(), &other = plain.start();
    const Outcome first = run_one(engine, with_start(100, 5, 0, 40));
    CHECK(first.timing.cached_tokens == 0);
    for (int i = 1; i < 5; ++i) {
        const Outcome again = run_one(engine, with_start(100, 5, i, 40)),
                      alone = run_one(other, with_start(100, 5, i, 40));
        CHECK(again.ids == alone.ids);
        CHECK(again.timing.cached_tokens == 96);  // three pages of 32
        CHECK(alone.timing.cached_tokens == 0);
        check_identity(again.timing);
    }
    // The answer is known as well: a second turn begins with prompt and answer.
    RequestOptions second = with_start(100, 5, 0, 10);
    second.prompt_ids.insert(second.prompt_ids.end(), first.ids.begin(), first.ids.end());
    second.prompt_ids.push_back(17);
    CHECK(run_one(engine, second).timing.cached_tokens == 128);
}

TEST_CASE("the same prompt again computes one page at most, and at least one row") {
    Fixture fixture;
    Engine& engine = fixture.start();
    for (const size_t n : {1u, 31u, 32u, 33u, 64u, 65u}) {
        const Outcome first = run_one(engine, with_start(n, 0, 0, 3)),
                      again = run_one(engine, with_start(n, 0, 0, 3));
        INFO(n << " tokens");
        CHECK(again.ids == first.ids);
        CHECK(again.timing.cached_tokens == (n - 1) / 32 * 32);
    }
}

TEST_CASE("requests that come together compute the start that they share once") {
    EngineOptions options;
    options.chunk_tokens = 64;
    Fixture fixture(options, GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma());
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    auto first = engine.submit(prompt_of(3, 1));  // holds the step while the others come
    gate.wait_for_arrivals(1);
    std::vector<Heard> heard(8);
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 8; ++i)
        requests.push_back(
            std::move(*submit(engine, with_start(100, 20, i, 5), heard[static_cast<size_t>(i)])));
    gate.open();
    uint64_t n_cached = 0;
    for (const auto& request : requests) {
        REQUIRE(request->wait(UINT64_MAX).ok());
        n_cached += request->timing().cached_tokens;
    }
    CHECK(n_cached >= 6 * 96);
    for (const Heard& one : heard) CHECK(one.reason == FinishReason::length);
}

TEST_CASE("requests that run at once, end early and come again get the tokens of each alone") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();
    EngineOptions options;
    options.context_tokens = 256;
    options.kv_tokens = GENERATE(256u, 512u, 4096u);  // few pages: the cache is always being emptied
    Fixture fixture(options, model), plain(without_reuse(), model);
    Engine &engine = fixture.start(), &other = plain.start();
    std::mt19937 random(9);
    for (int round = 0; round < 6; ++round) {
        std::vector<Heard> heard(12);
        std::vector<RequestOptions> asked;
        std::vector<std::unique_ptr<Request>> requests;
        for (size_t i = 0; i < heard.size(); ++i) {
            asked.push_back(with_start(random() % 3 * 40, 1 + random() % 70, static_cast<int>(random() % 4),
                                       1 + static_cast<uint32_t>(random() % 60)));
            if (i % 3 == 1) {
                asked.back().sampler.temperature = 1;
                asked.back().sampler.seed = i;
            }
            requests.push_back(std::move(*submit(engine, asked.back(), heard[i])));
            if (random() % 8 == 0) requests.back()->cancel();
        }
        for (size_t i = 0; i < heard.size(); ++i) {
            REQUIRE(requests[i]->wait(UINT64_MAX).ok());
            INFO("round " << round << ", request " << i << ": " << heard[i].message);
            REQUIRE(heard[i].status == StatusCode::ok);
            const std::vector<int32_t> alone = run_one(other, asked[i]).ids;
            if (heard[i].reason == FinishReason::length) CHECK(heard[i].ids == alone);
            CHECK(std::equal(heard[i].ids.begin(), heard[i].ids.end(), alone.begin()));
        }
    }
}

}  // namespace takt
