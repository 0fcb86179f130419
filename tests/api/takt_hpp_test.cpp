// The C++ face: owning handles, exceptions both ways.
#include <catch2/catch.hpp>

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include <takt/takt.hpp>

#include "c_fixture.h"

using takt_test::golden_answer;
using takt_test::golden_prompt;
using takt_test::tiny_model;

namespace {

takt::RequestOptions golden_options(uint32_t max_tokens) {
    takt::RequestOptions options;
    options.prompt_ids = golden_prompt();
    options.max_tokens = max_tokens;
    options.ignore_eos = true;
    return options;
}

}  // namespace

static_assert(std::is_move_constructible_v<takt::Engine> && !std::is_copy_constructible_v<takt::Engine>);
static_assert(std::is_move_assignable_v<takt::Request> && !std::is_copy_assignable_v<takt::Request>);

TEST_CASE("takt.hpp generates, streams and pulls the same tokens") {
    const takt::Runtime runtime;
    const takt::Model model(runtime, tiny_model());
    takt::Engine engine(model);
    std::vector<int32_t> pushed, pulled;
    takt::RequestOptions options = golden_options(8);
    options.on_event = [&](const takt::Event& event) {
        if (event.is_token()) pushed.push_back(event.raw.token_id);
        return true;
    };
    const takt_timing timing = engine.generate(options);
    CHECK(timing.generated_tokens == 8);
    CHECK(pushed == golden_answer());
    takt::Request request = engine.submit(golden_options(8));
    while (const std::optional<takt::Event> event = request.next()) {
        if (event->is_finished()) break;
        pulled.push_back(event->raw.token_id);
    }
    CHECK(pulled == golden_answer());
    CHECK(request.prompt_ids() == golden_prompt());
    CHECK(request.status() == TAKT_OK);
    CHECK(request.message().empty());
}

TEST_CASE("takt.hpp turns a failed call into an Error with status and sentence") {
    const takt::Runtime runtime;
    try {
        const takt::Model model(runtime, "/no/such/model.gguf");
        FAIL("it loaded");
    } catch (const takt::Error& error) {
        CHECK(error.status() == TAKT_ERROR_FILE_NOT_FOUND);
        CHECK(std::string(error.what()).find("/no/such/model.gguf") != std::string::npos);
    }
}

TEST_CASE("takt.hpp brings an exception of a callback back to the caller") {
    const takt::Runtime runtime;
    const takt::Model model(runtime, tiny_model());
    takt::Engine engine(model);
    takt::RequestOptions options = golden_options(8);
    options.on_event = [](const takt::Event&) -> bool { throw std::domain_error("mine"); };
    CHECK_THROWS_AS(engine.generate(options), std::domain_error);
    takt::Request request = engine.submit(options);
    CHECK_THROWS_AS(request.wait(), std::domain_error);
    takt::ModelOptions load;
    load.progress = [](uint64_t, uint64_t) -> bool { throw std::domain_error("mine"); };
    CHECK_THROWS_AS(takt::Model(runtime, tiny_model(), load), std::domain_error);
    CHECK_THROWS_AS(
        engine.evaluate(golden_prompt(), 0, 0,
                        [](size_t, const float*, size_t) -> bool { throw std::domain_error("mine"); }),
        std::domain_error);
}

TEST_CASE("takt.hpp drops a running request without waiting for its reader") {
    const takt::Runtime runtime;
    const takt::Model model(runtime, tiny_model());
    takt::Engine engine(model);
    {
        const takt::Request dropped = engine.submit(golden_options(200));
    }
    takt::Request kept = engine.submit(golden_options(200));
    takt::Engine moved = std::move(engine);
    CHECK(moved.context_tokens() == 256);
    kept.cancel();
    CHECK(kept.wait());
}

TEST_CASE("takt.hpp reads models from memory and text through them") {
    const takt::Runtime runtime;
    takt::ModelOptions options;
    options.metadata_only = true;
    const takt::Model model(runtime, tiny_model(), options);
    const std::vector<int32_t> ids = model.tokenize("Hello, world!", 0);
    CHECK(ids.size() == 10);
    CHECK(model.detokenize(ids) == "Hello, world!");
    CHECK(model.tokenize("", 0).empty());
    CHECK_FALSE(model.render_chat(R"({"messages":[{"role":"user","content":"hi"}]})").empty());
    CHECK(model.inspect().front() == '{');
    CHECK_FALSE(model.program().empty());
    CHECK(model.plan().total_bytes > 0);
    CHECK(model.info().vocab_size == 384);
    CHECK_FALSE(runtime.backends().empty());
}

TEST_CASE("takt.hpp tells steps and statistics, and no steps once the engine is gone") {
    const takt::Runtime runtime;
    const takt::Model model(runtime, tiny_model());
    std::vector<takt_step> steps;
    takt::EngineOptions options;
    options.on_step = [&](const takt_step& step) { steps.push_back(step); };
    options.memory_limit_bytes = model.plan().total_bytes - 1;
    auto engine = std::make_unique<takt::Engine>(model, options);
    CHECK(model.plan(options).total_bytes <= options.memory_limit_bytes);
    engine->generate(golden_options(8));
    takt::Engine moved = std::move(*engine);
    engine.reset();
    takt::Session session(moved);
    takt::RequestOptions few;
    few.max_tokens = 2;
    few.ignore_eos = true;
    session.send("hi", few);
    CHECK(moved.statistics().generated_tokens == 10);
    const uint64_t n_steps = moved.statistics().n_steps;
    moved = takt::Engine(model, {});
    CHECK(steps.size() == n_steps);
    CHECK(steps.front().prefill_rows == golden_prompt().size());
    session.send("hi", few);  // the session keeps the old engine
    CHECK(steps.size() == n_steps);
}

TEST_CASE("takt.hpp takes snapshots, which outlive everything, and carries them as bytes") {
    std::optional<takt::Snapshot> before, after;
    {
        const takt::Runtime runtime;
        const takt::Model model(runtime, tiny_model());
        takt::EngineOptions options;
        options.name = "numbers";
        options.trace_steps = 8;
        takt::Engine engine(model, options);
        before = engine.snapshot();
        engine.generate(golden_options(8));
        takt::Request request = engine.submit(golden_options(4));
        CHECK(request.wait());
        CHECK(request.id() == 2);
        CHECK(request.timing().request_id == 2);
        after = engine.snapshot();
        const std::string trace = engine.trace();
        CHECK(trace.find("engine numbers") != std::string::npos);
        CHECK(trace.find("\"cat\":\"step\"") != std::string::npos);
    }
    const takt::Snapshot between = after->since(*before);
    CHECK(between.totals().generated_tokens == 12);
    CHECK(between.totals().finished[TAKT_FINISH_LENGTH] == 2);
    CHECK(between.histogram("ttft").count == 2);
    CHECK(between.histogram("generated_tokens").sum == 12);
    CHECK(between.percentile("generated_tokens", 0.5) == 4);
    CHECK(between.percentile("generated_tokens", 0.5, TAKT_PERCENTILE_LINEAR) == 6);
    CHECK(std::isnan(between.percentile("ttft_cancelled", 0.5)));
    CHECK_THROWS_AS(between.histogram("tfft"), std::invalid_argument);
    CHECK_THROWS_AS(between.percentile("", 0.5), std::invalid_argument);
    const std::string bytes = after->to_bytes();
    const takt::Snapshot again = takt::Snapshot::from_bytes(bytes.data(), bytes.size());
    CHECK(again.json() == after->json());
    CHECK(again.prometheus() == after->prometheus());
    CHECK(again.prometheus().find("engine=\"numbers\"") != std::string::npos);
    CHECK(again.merged_with(*after).totals().generated_tokens == 24);
    takt::Snapshot moved = std::move(*after);
    CHECK(moved.since(*before).totals().n_steps == between.totals().n_steps);
    CHECK(takt::Snapshot::metrics().size() == takt_metric_count());
    const auto status_of = [](auto call) {
        try {
            call();
        } catch (const takt::Error& error) {
            return error.status();
        }
        return takt_status{TAKT_OK};
    };
    CHECK(status_of([&] { before->since(moved); }) == TAKT_ERROR_INVALID_ARGUMENT);
    CHECK(status_of([&] { moved.percentile("ttft", 2); }) == TAKT_ERROR_INVALID_ARGUMENT);
    CHECK(status_of([&] { takt::Snapshot::from_bytes(bytes.data(), 40); }) == TAKT_ERROR_STATE_CORRUPT);
}

TEST_CASE("takt.hpp keeps promises by engine, request and preset, and tells those that are broken") {
    const takt::Runtime runtime;
    const takt::Model model(runtime, tiny_model());
    std::vector<takt_slo_miss> misses;
    takt::EngineOptions options;
    options.slo = takt::Slo{1, 0, 0, 0};
    options.on_slo_miss = [&](const takt_slo_miss& miss) { misses.push_back(miss); };
    auto engine = std::make_unique<takt::Engine>(model, options);
    CHECK(engine->generate(golden_options(4)).slo_broken == TAKT_BOUND_TTFT);
    takt::RequestOptions own = golden_options(4);
    own.slo = takt::Slo{0, 0, 0, 1};
    CHECK(engine->generate(own).slo_broken == TAKT_BOUND_E2E);
    own.slo = takt::Slo{};
    CHECK(engine->generate(own).slo_verdict == TAKT_SLO_NOT_JUDGED);
    own.slo = takt::Slo{UINT64_MAX, 0, 0, UINT64_MAX};
    own.turn = 2;
    CHECK(engine->generate(own).slo_verdict == TAKT_SLO_GOOD);
    CHECK(engine->snapshot().histogram("ttft_later_turns").count == 1);
    CHECK(engine->snapshot().totals().slo_missed == 2);
    takt::Engine moved = std::move(*engine);
    engine.reset();
    CHECK(moved.generate(golden_options(1)).slo_verdict == TAKT_SLO_MISSED);
    takt::Session session(moved);
    moved = takt::Engine(model, {});
    REQUIRE(misses.size() == 3);
    CHECK(misses[0].bound == TAKT_BOUND_TTFT);
    CHECK(misses[1].bound == TAKT_BOUND_E2E);
    CHECK(misses[2].request_id == 5);
    takt::RequestOptions few;
    few.max_tokens = 2;
    few.ignore_eos = true;
    session.send("hi", few);  // the session keeps the old engine
    CHECK(misses.size() == 3);
    REQUIRE(takt::slo_preset("guidellm-chat"));
    CHECK(takt::slo_preset("guidellm-chat")->ttft_ns == 200'000'000);
    CHECK(takt::slo_preset("guidellm-chat")->c().itl_ns == 50'000'000);
    CHECK_FALSE(takt::slo_preset("guidellm"));
    options.smooth_alpha = -2;
    CHECK_THROWS_AS(takt::Engine(model, options), takt::Error);
}

TEST_CASE("takt.hpp holds a conversation") {
    const takt::Runtime runtime;
    const takt::Model model(runtime, tiny_model());
    const takt::Engine engine(model);
    takt::Session session(engine, "Be brief.");
    takt::RequestOptions options;
    options.max_tokens = 2;
    options.ignore_eos = true;
    const uint64_t first = session.send("hi", options).prompt_tokens;
    CHECK(session.send("hi", options).prompt_tokens > first);
    session.reset();
    CHECK(session.send("hi", options).prompt_tokens == first);
}

TEST_CASE("takt.hpp simulates, stops, and lets exceptions of both callbacks be seen") {
    const takt::Runtime runtime;
    takt::ModelOptions metadata;
    metadata.metadata_only = true;
    const takt::Model model(runtime, tiny_model(), metadata);
    const takt::StepCosts costs{{{10, 1, 0}}, {{50, 9, 0}}, 0, 0};
    const std::vector<takt_simulated_request> requests = {{100, 9, 3}, {1000, 9, 1}};
    takt::EngineOptions options;
    std::vector<uint64_t> step_ends, finished;
    options.on_step = [&](const takt_step& step) { step_ends.push_back(step.end_ns); };
    model.simulate(options, costs, requests, [&](std::size_t index, const takt_timing& timing) {
        CHECK(index == finished.size());
        finished.push_back(timing.finished_ns);
        return true;
    });
    CHECK(finished == std::vector<uint64_t>{170, 1050});
    CHECK(step_ends == std::vector<uint64_t>{150, 160, 170, 1050});
    const auto stop = [](std::size_t, const takt_timing&) { return false; };
    CHECK_THROWS_AS(model.simulate({}, costs, requests, stop), takt::Error);
    const auto fall = [](std::size_t, const takt_timing&) -> bool { throw std::runtime_error("fell"); };
    CHECK_THROWS_WITH(model.simulate({}, costs, requests, fall), "fell");
    CHECK_THROWS_AS(model.simulate({}, {}, requests, stop), takt::Error);
    // An exception of on_step ends its calls, not the simulation.
    finished.clear();
    options.on_step = [](const takt_step&) { throw std::runtime_error("fell"); };
    model.simulate(options, costs, requests, [&](std::size_t, const takt_timing& timing) {
        finished.push_back(timing.finished_ns);
        return true;
    });
    CHECK(finished.size() == 2);
}
