// Logits of given texts: every wanted position once, in order, whatever the chunks and whatever else runs.
#include <algorithm>
#include <cmath>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

std::vector<int32_t> ids_of(size_t n) {
    return prompt_of(n, 0).prompt_ids;
}

// The best token of each position given.
std::vector<int32_t> best_tokens(Engine& engine, std::span<const int32_t> ids, size_t first, uint32_t chunk) {
    std::vector<int32_t> best;
    const auto caller = std::this_thread::get_id();
    const Status status =
        engine.evaluate(ids, first, chunk, [&](size_t position, std::span<const float> logits) {
            CHECK(std::this_thread::get_id() == caller);
            CHECK(position == first + best.size());
            CHECK(logits.size() == 384);
            CHECK(engine.inside_callback());
            best.push_back(
                static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
            return true;
        });
    INFO(status.message());
    CHECK(status.ok());
    return best;
}

}  // namespace

TEST_CASE("evaluate gives the wanted positions, the same ones in chunks of any size") {
    EngineOptions options;
    options.max_sequences = 2;
    options.chunk_tokens = 100;
    Fixture fixture(options, GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma());
    size_t most_rows = 0;
    fixture.script.before_run = [&](const StepBatch& batch) {
        most_rows = std::max(most_rows, batch.tokens.size());
        return Status();
    };
    Engine& engine = fixture.start();
    const auto ids = ids_of(250);
    const auto all = best_tokens(engine, ids, 0, 0);
    REQUIRE(all.size() == 250);
    CHECK(most_rows <= 100);
    for (const uint32_t chunk : {1u, 7u, 64u, 100u, 5000u}) {
        most_rows = 0;
        CHECK(best_tokens(engine, ids, 0, chunk) == all);
        CHECK(most_rows <= chunk);
    }
    for (const size_t first : {size_t{1}, size_t{99}, size_t{249}})
        CHECK(best_tokens(engine, ids, first, 0) ==
              std::vector<int32_t>(all.begin() + static_cast<std::ptrdiff_t>(first), all.end()));
    CHECK(best_tokens(engine, ids_of(256), 255, 0).size() == 1);  // the whole context
}

TEST_CASE("evaluate refuses what it can't do, by name and value") {
    Fixture fixture;
    Engine& engine = fixture.start();
    const auto refused = [&](std::vector<int32_t> ids, size_t first) {
        return engine.evaluate(ids, first, 0, [](size_t, std::span<const float>) { return true; });
    };
    CHECK(refused({}, 0).code() == StatusCode::prompt_empty);
    CHECK(refused(ids_of(257), 0).message() == "Prompt has 257 tokens, the context holds 256.");
    CHECK(refused(ids_of(5), 5).message() == "first_position is 5, there are 5 tokens.");
    CHECK(refused({1, 2, 384}, 0).message() == "ids[2] is 384, the vocabulary has 384 tokens.");
}

TEST_CASE("evaluate ends when its callback says so, when a step fails and when logits aren't finite") {
    Fixture fixture;
    Engine& engine = fixture.start();
    int n = 0;
    const auto stop_at_third = [&](size_t, std::span<const float>) { return ++n < 3; };
    CHECK(engine.evaluate(ids_of(9), 0, 0, stop_at_third).code() == StatusCode::cancelled);
    CHECK(n == 3);
    const auto throws = [](size_t, std::span<const float>) -> bool { throw 5; };
    CHECK(engine.evaluate(ids_of(9), 0, 0, throws).code() == StatusCode::internal);
    const auto go_on = [](size_t, std::span<const float>) { return true; };
    fixture.script.poison = [](uint64_t, uint32_t position) { return position == 4 ? INFINITY : NAN; };
    const Status bad = engine.evaluate(ids_of(9), 0, 0, go_on);
    CHECK(bad.code() == StatusCode::logits_not_finite);
    CHECK(bad.message().find("position 4") != std::string::npos);
    fixture.script.poison = nullptr;
    fixture.script.before_run = [](const StepBatch&) {
        return Status(StatusCode::device_failed, "It broke.");
    };
    CHECK(engine.evaluate(ids_of(9), 0, 0, go_on).message() == "It broke.");
    fixture.script.before_run = nullptr;
    CHECK(best_tokens(engine, ids_of(9), 0, 0).size() == 9);
}

TEST_CASE("requests and evaluations share an engine, even one with pages for few") {
    EngineOptions options;
    options.context_tokens = 128;
    options.kv_tokens = 128;
    options.max_sequences = 2;
    Fixture fixture(options);
    Engine& engine = fixture.start();
    const auto ids = ids_of(128);
    const auto alone = best_tokens(engine, ids, 0, 5);
    const auto tokens = run(engine, prompt_of(60, 60)).ids;
    std::vector<std::thread> threads;
    std::atomic<int> n_right = 0;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < 5; ++round) {
                if (i % 2 == 0) {
                    std::vector<int32_t> best;
                    const Status status =
                        engine.evaluate(ids, 0, 5, [&](size_t, std::span<const float> logits) {
                            best.push_back(static_cast<int32_t>(
                                std::max_element(logits.begin(), logits.end()) - logits.begin()));
                            return true;
                        });
                    n_right += status.ok() && best == alone;
                } else {
                    std::vector<int32_t> generated;
                    RequestOptions request = prompt_of(60, 60);
                    request.on_event = [&](const Event& event) {
                        if (event.type == EventType::token) generated.push_back(event.token_id);
                        return true;
                    };
                    n_right += engine.generate(std::move(request)).ok() && generated == tokens;
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(n_right == 20);
}

}  // namespace takt
