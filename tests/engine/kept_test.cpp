// What a request had stays while its handle says so, and nobody waits for ever for room that it holds.
#include <thread>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

RequestOptions kept(size_t n_prompt, uint32_t max_tokens, int32_t salt = 0) {
    RequestOptions options = prompt_of(n_prompt, max_tokens, salt);
    options.ignore_eos = true;
    options.keep_state = true;
    return options;
}

}  // namespace

TEST_CASE("pages of a kept request stay until its handle goes") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();
    Fixture fixture({}, model);
    Engine& engine = fixture.start();
    {
        auto request = engine.submit(kept(40, 30));
        REQUIRE(request.ok());
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        CHECK((*request)->finish_reason() == FinishReason::length);
        CHECK(pages_in_use(engine).front() == 3);  // 69 positions
        engine.cancel_all_and_wait();              // it has ended before
        CHECK(pages_in_use(engine).front() == 3);
    }
    CHECK(no_pages_in_use(engine));
}

TEST_CASE("with max_tokens 0 a kept prompt is computed, and without being kept it is not") {
    Fixture fixture;
    int n_rows = 0;
    fixture.script.before_run = [&](const StepBatch& batch) {
        n_rows += static_cast<int>(batch.tokens.size());
        return Status();
    };
    Engine& engine = fixture.start();
    CHECK(run(engine, prompt_of(70, 0)).reason == FinishReason::length);
    CHECK(n_rows == 0);
    Heard heard;
    auto pin = submit(engine, kept(70, 0), heard);
    REQUIRE((*pin)->wait(UINT64_MAX).ok());
    CHECK(heard.reason == FinishReason::length);
    CHECK(heard.ids.empty());
    CHECK(n_rows == 70);
    check_identity((*pin)->timing());
    CHECK(pages_in_use(engine)[0] == 3);
    // A prompt that begins so computes what follows.
    RequestOptions longer = prompt_of(75, 4);
    auto next = engine.generate(longer);
    CHECK((*next)->timing().cached_tokens == 64);
}

TEST_CASE("every end but an error keeps") {
    Fixture fixture;
    Gate gate;
    fixture.hold_steps(gate);
    fixture.script.poison = [](uint64_t sequence, uint32_t) { return sequence == 3 ? INFINITY : NAN; };
    Engine& engine = fixture.start();
    std::vector<Heard> heard(3);
    std::vector<std::unique_ptr<Request>> requests;
    RequestOptions late = kept(40, 50, 1);
    late.deadline_ns = 5000;
    requests.push_back(std::move(*submit(engine, kept(40, 50), heard[0])));
    requests.push_back(std::move(*submit(engine, late, heard[1])));
    requests.push_back(std::move(*submit(engine, kept(40, 50, 2), heard[2])));
    gate.wait_for_arrivals(1);
    requests[0]->cancel();
    fixture.manual->advance_ns(10'000);
    gate.open();
    for (auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
    CHECK(heard[0].reason == FinishReason::cancelled);
    CHECK(heard[1].reason == FinishReason::deadline);
    CHECK(heard[2].reason == FinishReason::error);
    CHECK(pages_in_use(engine)[0] >= 2);
    requests.erase(requests.begin());
    requests.erase(requests.begin());
    CHECK(pages_in_use(engine)[0] == 0);
}

TEST_CASE("a request destroyed in its own callback keeps nothing") {
    Fixture fixture;
    Engine& engine = fixture.start();
    std::atomic<bool> released = false;
    std::unique_ptr<Request> request;
    std::atomic<bool> submitted = false;
    RequestOptions options = kept(40, 3);
    options.on_event = [&](const Event& event) {
        while (!submitted) std::this_thread::yield();
        if (event.type == EventType::finished) request.reset();
        return true;
    };
    options.on_release = [&] { released = true; };
    request = std::move(*engine.submit(std::move(options)));
    submitted = true;
    while (!released) std::this_thread::yield();
    CHECK(pages_in_use(engine)[0] == 0);
}

TEST_CASE("requests for which kept ones leave no room end, and the sentence says why") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();
    EngineOptions options;
    options.context_tokens = 128;
    options.kv_tokens = 128;
    options.max_sequences = 2;
    Fixture fixture(options, model);
    Engine& engine = fixture.start();
    auto pin = engine.submit(kept(100, 0));
    REQUIRE((*pin)->wait(UINT64_MAX).ok());
    const std::vector<uint32_t> pinned = pages_in_use(engine);
    const Heard waits = run(engine, prompt_of(90, 5, 1));
    CHECK(waits.reason == FinishReason::error);
    CHECK(waits.status == StatusCode::out_of_memory);
    CHECK(waits.message.find("90 tokens need 3 pages") != std::string::npos);
    CHECK(waits.message.find("1 kept requests (keep_state)") != std::string::npos);
    RequestOptions grows = prompt_of(20, 100, 2);
    grows.ignore_eos = true;
    const Heard grown = run(engine, grows);
    CHECK(grown.status == StatusCode::out_of_memory);
    CHECK(grown.ids.size() > 5);
    const std::vector<int32_t> ids(90, 5);
    const Status evaluated = engine.evaluate(ids, 89, 0, [](size_t, std::span<const float>) { return true; });
    CHECK(evaluated.code() == StatusCode::out_of_memory);
    CHECK(pages_in_use(engine) == pinned);
    pin->reset();
    CHECK(run(engine, prompt_of(90, 5, 1)).reason != FinishReason::error);
}

TEST_CASE("what is done between two steps is refused where it can't be") {
    Fixture fixture;
    Engine& engine = fixture.start();
    StatusCode inside = StatusCode::ok;
    RequestOptions options = prompt_of(3, 1);
    options.on_event = [&](const Event&) {
        inside = engine.pages_in_use().status().code();
        return true;
    };
    REQUIRE(engine.generate(std::move(options)).ok());
    CHECK(inside == StatusCode::invalid_state);
}

}  // namespace takt
