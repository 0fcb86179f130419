// One request after another: what is refused, how each ends, what its events say.
#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

constexpr uint32_t kContext = 64;

EngineOptions small_context() {
    EngineOptions options;
    options.context_tokens = kContext;
    return options;
}

void check_refused(Engine& engine, RequestOptions options, StatusCode code, std::vector<std::string> words) {
    options.on_release = [] { FAIL("released though it was never queued"); };
    const auto request = engine.submit(std::move(options));
    INFO(request.status().message());
    CHECK(request.status().code() == code);
    for (const std::string& word : words) CHECK(request.status().message().find(word) != std::string::npos);
}

}  // namespace

TEST_CASE("a request that can't run is refused by name and value") {
    Fixture fixture(small_context());
    Engine& engine = fixture.start();
    CHECK(engine.context_tokens() == kContext);
    CHECK(engine.backend_name() == "fake");
    check_refused(engine, prompt_of(0, 4), StatusCode::prompt_empty, {"empty"});
    check_refused(engine, prompt_of(kContext, 4), StatusCode::prompt_too_long,
                  {"Prompt has 64 tokens", "holds 64"});
    check_refused(engine, prompt_of(kContext + 1, 4), StatusCode::prompt_too_long,
                  {"Prompt has 65 tokens, the context holds 64."});
    CHECK(run(engine, prompt_of(kContext, 0)).reason == FinishReason::length);  // nothing needs room
    for (const int32_t bad : {-1, 384, INT32_MAX, INT32_MIN}) {
        RequestOptions options = prompt_of(5, 4);
        options.prompt_ids[3] = bad;
        check_refused(engine, options, StatusCode::invalid_argument,
                      {"prompt_ids[3] is " + std::to_string(bad), "384 tokens"});
        options = prompt_of(5, 4);
        options.stop_ids = {5, bad};
        check_refused(engine, options, StatusCode::invalid_argument,
                      {"stop_ids[1] is " + std::to_string(bad)});
    }
    RequestOptions options = prompt_of(5, 4);
    options.stop_strings = {"a", ""};
    check_refused(engine, options, StatusCode::invalid_argument, {"stop_strings[1] is empty"});
    options.stop_strings = {"a\xE6\xBC"};
    check_refused(engine, options, StatusCode::invalid_argument, {"stop_strings[0]", "UTF-8", "byte 1"});
    options = prompt_of(5, 4);
    options.sampler.temperature = -1;
    check_refused(engine, options, StatusCode::invalid_argument, {"temperature is -1"});
    CHECK(run(engine, prompt_of(5, 4)).reason == FinishReason::length);  // and it goes on
}

TEST_CASE("engine options out of range are refused by name and value") {
    const auto status_of = [](auto change) {
        Fixture fixture;
        fixture.start();
        EngineOptions options;
        change(options);
        auto engine = Engine::create(fixture.runtime, tiny_llama(), options);
        CHECK(Engine::plan(*fixture.runtime, *tiny_llama(), options).status().message() ==
              engine.status().message());
        return engine.status();
    };
    const auto check = [&](auto change, StatusCode code, const std::string& words) {
        const Status status = status_of(change);
        INFO(status.message());
        CHECK(status.code() == code);
        CHECK(status.message().find(words) != std::string::npos);
    };
    check([](auto& o) { o.context_tokens = 257; }, StatusCode::invalid_argument,
          "context_tokens is 257, the model was trained for 256");
    for (const uint32_t page_tokens : {1u, 8u, 24u, 8192u, UINT32_MAX}) {
        check([&](auto& o) { o.page_tokens = page_tokens; }, StatusCode::invalid_argument,
              "page_tokens is " + std::to_string(page_tokens) + ", must be a power of two from 16 to 4096.");
    }
    check([](auto& o) { o.context_tokens = UINT32_MAX; }, StatusCode::invalid_argument,
          "context_tokens is 4294967295");
    check([](auto& o) { o.max_sequences = 1u << 31; }, StatusCode::invalid_argument,
          "max_sequences is 2147483648");
    check([](auto& o) { o.chunk_tokens = UINT32_MAX; }, StatusCode::invalid_argument, "chunk_tokens");
    check([](auto& o) { o.max_waiting = UINT32_MAX; }, StatusCode::invalid_argument, "max_waiting");
    check([](auto& o) { o.kv_tokens = 255; }, StatusCode::invalid_argument,
          "kv_tokens is 255, must be 256 to");
    check([](auto& o) { o.kv_tokens = ~0ull; }, StatusCode::invalid_argument, "kv_tokens");
    check([](auto& o) { o.backend = "none"; }, StatusCode::not_found, "fake");
    Fixture fixture;
    fixture.start();
    CHECK(Engine::create(fixture.runtime, tiny_llama(), {}, [](uint64_t, uint64_t) { return false; })
              .status()
              .code() == StatusCode::cancelled);
}

TEST_CASE("the context holds prompt and generated tokens together") {
    Fixture fixture(small_context());
    Engine& engine = fixture.start();
    Heard heard = run(engine, prompt_of(kContext - 1, 10));
    CHECK(heard.ids.size() == 1);
    CHECK(heard.reason == FinishReason::context_full);
    CHECK(heard.status == StatusCode::ok);
    heard = run(engine, prompt_of(kContext - 1, 1));
    CHECK(heard.reason == FinishReason::length);
    heard = run(engine, prompt_of(10, 1'000'000'000));
    CHECK(heard.ids.size() == kContext - 10);
    CHECK(heard.reason == FinishReason::context_full);
    CHECK(run(engine, prompt_of(10, 5)).ids.size() == 5);  // and it goes on
}

TEST_CASE("max_tokens 0 ends at once, without a step") {
    Fixture fixture;
    int n_steps = 0;
    fixture.script.before_run = [&](const StepBatch&) {
        ++n_steps;
        return Status();
    };
    Heard heard;
    auto request = submit(fixture.start(), prompt_of(5, 0), heard);
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    CHECK(heard.reason == FinishReason::length);
    CHECK(heard.ids.empty());
    CHECK(n_steps == 0);
    const TimingSummary timing = (*request)->timing();
    CHECK_FALSE(timing.ttft_ns);
    CHECK(timing.generated_tokens == 0);
    check_identity(timing);
}

TEST_CASE("an end-of-generation token ends a request, without text, unless it is to be ignored") {
    Fixture fixture;
    fixture.script.next = [](std::span<const int32_t> tokens) {
        return tokens.size() == 8 ? kEndOfTurn : kLetterA;
    };
    Engine& engine = fixture.start();
    Heard heard = run(engine, prompt_of(5, 20));
    CHECK(heard.ids == std::vector<int32_t>{kLetterA, kLetterA, kLetterA, kEndOfTurn});
    CHECK(heard.text == "aaa");
    CHECK(heard.reason == FinishReason::stop);
    RequestOptions options = prompt_of(5, 10);
    options.ignore_eos = true;
    heard = run(engine, options);
    CHECK(heard.ids.size() == 10);
    CHECK(heard.ids[3] == kEndOfTurn);
    CHECK(heard.reason == FinishReason::length);
    options.stop_ids = {7, kEndOfTurn};
    heard = run(engine, options);
    CHECK(heard.ids.size() == 4);
    CHECK(heard.text == "aaa");
    CHECK(heard.reason == FinishReason::stop);
    options.max_tokens = 4;  // both at once: it is the token that ended it
    CHECK(run(engine, options).reason == FinishReason::stop);
    options.max_tokens = 3;
    CHECK(run(engine, options).reason == FinishReason::length);
}

TEST_CASE("a stop string ends a request, and nothing of it is shown") {
    Fixture fixture;
    const std::string story = "abcdefghij";
    fixture.script.next = [&](std::span<const int32_t> tokens) {
        return kLetterA + (story[tokens.size() - 5] - 'a');
    };
    Engine& engine = fixture.start();
    RequestOptions options = prompt_of(5, 8);
    options.stop_strings = {"efg"};
    Heard heard = run(engine, options);
    CHECK(heard.text == "abcd");
    CHECK(heard.ids.size() == 7);
    CHECK(heard.reason == FinishReason::stop);
    std::vector<std::string> pieces;
    options.stop_strings = {"ghX"};
    heard = run(engine, options);
    CHECK(heard.text == "abcdefgh");  // what was held back came with the end
    CHECK(heard.reason == FinishReason::length);
    CHECK(heard.events.back().token_index == 8);
}

TEST_CASE("a request is told its ids, its events in order, and its own status") {
    Fixture fixture;
    Engine& engine = fixture.start();
    Heard heard;
    auto request = submit(engine, prompt_of(5, 3), heard);
    REQUIRE(request.ok());
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    const std::vector<int32_t> prompt((*request)->prompt_ids().begin(), (*request)->prompt_ids().end());
    CHECK(prompt == prompt_of(5, 3).prompt_ids);
    CHECK((*request)->status().ok());
    CHECK((*request)->backend_name() == "fake");
    CHECK(heard.events.size() == 4);
    for (const Event& event : heard.events) {
        CHECK(event.submitted_ns <= event.scheduled_ns);
        CHECK(event.scheduled_ns <= event.computed_ns);
        CHECK(event.computed_ns <= event.ready_ns);
        CHECK(event.ready_ns <= event.delivered_ns);
    }
    (*request)->cancel();  // harmless after the end
    CHECK((*request)->finish_reason() == FinishReason::length);
}

TEST_CASE("events are pulled where there is no callback") {
    Fixture fixture;
    Engine& engine = fixture.start();
    const Heard alone = run(engine, prompt_of(5, 6));
    auto request = engine.submit(prompt_of(5, 6));
    REQUIRE(request.ok());
    REQUIRE((*request)->wait(UINT64_MAX).ok());  // the engine waits for no reader
    Heard heard;
    for (int i = 0; i < 7; ++i) {
        const auto event = (*request)->next(UINT64_MAX);
        REQUIRE(event.ok());
        heard.hear(*event);
    }
    CHECK(heard.ids == alone.ids);
    CHECK(heard.text == alone.text);
    CHECK(heard.reason == FinishReason::length);
    CHECK((*request)->next(0).status().code() == StatusCode::invalid_state);
    Heard pushed;
    auto other = submit(engine, prompt_of(5, 6), pushed);
    CHECK((*other)->next(0).status().code() == StatusCode::invalid_state);
}

TEST_CASE("waiting for events ends when the time is over") {
    Fixture fixture;
    Gate gate;
    fixture.hold_steps(gate);
    auto request = fixture.start().submit(prompt_of(5, 2));
    CHECK((*request)->next(0).status().code() == StatusCode::timed_out);
    CHECK((*request)->next(1'000'000).status().code() == StatusCode::timed_out);
    CHECK((*request)->wait(1'000'000).code() == StatusCode::timed_out);
    CHECK((*request)->status().ok());
    CHECK((*request)->finish_reason() == FinishReason::none);
    gate.open();
    CHECK((*request)->wait(UINT64_MAX).ok());
}

TEST_CASE("a seed gives the same tokens each time, another seed others") {
    Fixture fixture;
    Engine& engine = fixture.start();
    const auto tokens = [&](uint64_t seed) {
        RequestOptions options = prompt_of(5, 40);
        options.sampler.temperature = 1.5f;
        options.sampler.seed = seed;
        options.ignore_eos = true;
        return run(engine, options).ids;
    };
    CHECK(tokens(1) == tokens(1));
    CHECK(tokens(1) != tokens(2));
    CHECK(tokens(0) != tokens(UINT64_MAX));
}

}  // namespace takt
