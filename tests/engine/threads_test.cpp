// Many threads on one engine: submit, pull, cancel, destroy, evaluate, in any order.
#include <random>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

struct Reference {
    std::vector<int32_t> ids;
    std::string text;
};

RequestOptions request_number(unsigned i) {
    RequestOptions options = prompt_of(1 + i * 17 % 80, 1 + i * 7 % 50, static_cast<int32_t>(i));
    options.ignore_eos = true;
    if (i % 2 == 1) {
        options.sampler.temperature = 1;
        options.sampler.seed = i;
    }
    return options;
}

// Pulls until the end or until it has had enough; true if all it saw is the beginning of what is expected.
bool pull_and_compare(Request& request, const Reference& wanted, size_t enough) {
    std::string text;
    for (size_t n = 0; n < enough; ++n) {
        const auto event = request.next(UINT64_MAX);
        if (!event.ok()) return false;
        text += event->text;
        if (event->type == EventType::finished)
            return event->finish_reason == FinishReason::length && text == wanted.text;
        if (event->token_id != wanted.ids[n]) return false;
    }
    return wanted.text.starts_with(text);
}

}  // namespace

TEST_CASE("threads that submit, pull, cancel and destroy as they please get the tokens of a request alone") {
    EngineOptions options;
    options.max_sequences = 4;
    options.chunk_tokens = 16;
    options.kv_tokens = 512;
    Fixture fixture(options, tiny_gemma());
    fixture.use_steady_clock();
    Engine& engine = fixture.start();
    constexpr unsigned kKinds = 12;
    std::vector<Reference> wanted;
    for (unsigned i = 0; i < kKinds; ++i) {
        const Heard heard = run(engine, request_number(i));
        wanted.push_back({heard.ids, heard.text});
    }
    std::atomic<int> n_wrong = 0;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 6; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            for (int round = 0; round < 40; ++round) {
                const auto kind = static_cast<unsigned>(random() % kKinds);
                auto request = engine.submit(request_number(kind));
                if (!request.ok()) {
                    ++n_wrong;
                    continue;
                }
                switch (random() % 4) {
                    case 0:
                        break;  // destroyed at once
                    case 1:
                        (*request)->cancel();
                        [[fallthrough]];
                    case 2:
                        (void)(*request)->wait(random() % 1000);
                        break;
                    default: {
                        const size_t enough = random() % 2 == 0 ? 1000 : random() % 10;
                        if (!pull_and_compare(**request, wanted[kind], enough)) ++n_wrong;
                        (void)(*request)->timing();
                    }
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(n_wrong == 0);
    CHECK(run(engine, request_number(3)).ids == wanted[3].ids);
}

TEST_CASE("a cancel at any moment ends the request, and the engine goes on") {
    Fixture fixture;
    fixture.use_steady_clock();
    Engine& engine = fixture.start();
    const auto alone = run(engine, prompt_of(30, 20)).ids;
    for (int moment = 0; moment < 60; ++moment) {
        std::atomic<int> n_events = 0;
        RequestOptions options = prompt_of(30, 20);
        options.on_event = [&](const Event&) {
            ++n_events;
            return true;
        };
        auto request = engine.submit(std::move(options));
        std::thread canceller([&] {
            for (int i = 0; i < moment * 20; ++i) std::this_thread::yield();
            (*request)->cancel();
        });
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        canceller.join();
        const auto reason = (*request)->finish_reason();
        CHECK((reason == FinishReason::cancelled || reason == FinishReason::length));
        CHECK(n_events == static_cast<int>((*request)->timing().generated_tokens) + 1);
        check_identity((*request)->timing());
    }
    CHECK(run(engine, prompt_of(30, 20)).ids == alone);
}

TEST_CASE("engines of one runtime on many threads") {
    Fixture fixture;
    fixture.use_steady_clock();
    const auto alone = run(fixture.start(), prompt_of(20, 20)).ids;
    std::atomic<int> n_right = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int round = 0; round < 5; ++round) {
                auto engine = Engine::create(fixture.runtime, tiny_llama(), {});
                if (!engine.ok()) continue;
                std::vector<int32_t> ids;
                RequestOptions options = prompt_of(20, 20);
                options.on_event = [&](const Event& event) {
                    if (event.type == EventType::token) ids.push_back(event.token_id);
                    return true;
                };
                n_right += (*engine)->generate(std::move(options)).ok() && ids == alone;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(n_right == 20);
}

}  // namespace takt
