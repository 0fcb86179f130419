// A steady decode step allocates nothing on the worker's thread; where memory runs out there, every request
// is told.
#include "allocation_hook.h"
#include "engine_fixture.h"
#include "recurrent_fixture.h"

namespace {

// Only the thread that asks is counted; everything else in the program allocates as it likes.
thread_local bool counts_allocations = false, allocations_fail = false;
std::atomic<uint64_t> n_allocations{0};

}  // namespace

bool allocation_hook::may_allocate() noexcept {
    if (counts_allocations) ++n_allocations;
    return !allocations_fail;
}

namespace takt {
namespace {

using namespace takt::test;

RequestOptions steady_request(int i) {
    RequestOptions options = prompt_of(10, 100, i);
    options.ignore_eos = true;
    if (i % 2 == 1) {
        options.sampler.temperature = 0.9f;
        options.sampler.top_p = 0.95f;
        options.sampler.min_p = 0.01f;
        options.sampler.repetition_penalty = 1.1f;
        options.sampler.logit_bias = {{3, 1.0f}};
    }
    if (i % 3 == 1) options.stop_strings = {"abcabc"};
    return options;
}

}  // namespace

TEST_CASE("a steady decode step allocates nothing, whoever reads and however it is sampled") {
    Fixture fixture(EngineOptions{}, GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma());
    int n_steps = 0;
    // All six have their prompts behind them after the first steps; they end in the hundredth.
    fixture.script.before_run = [&](const StepBatch&) {
        ++n_steps;
        counts_allocations = n_steps >= 20 && n_steps < 90;
        return Status();
    };
    Engine& engine = fixture.start();
    std::vector<std::unique_ptr<Request>> requests;
    int n_heard = 0;
    for (int i = 0; i < 6; ++i) {
        RequestOptions options = steady_request(i);
        if (i < 3) {
            options.on_event = [&](const Event& event) {
                n_heard += event.type == EventType::token;
                return true;
            };
        }
        requests.push_back(std::move(*engine.submit(std::move(options))));
    }
    for (const auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
    CHECK(n_heard > 200);
    CHECK(n_steps >= 99);
    CHECK(n_allocations == 0);
}

TEST_CASE("nor does a step with drafts, from a draft model or the text") {
    EngineOptions engine_options;
    engine_options.draft_model = load_tiny("llama");
    engine_options.context_tokens = 256;
    Fixture fixture(engine_options);
    fixture.script.next = [](std::span<const int32_t> tokens) {
        const size_t n = tokens.size();
        return kLetterA + static_cast<int32_t>(n % 13 == 0 ? n / 13 % 20 : n % 7);
    };
    n_allocations = 0;
    int n_steps = 0;
    fixture.script.before_run = [&](const StepBatch&) {
        ++n_steps;
        counts_allocations = n_steps >= 30 && n_steps < 90;
        return Status();
    };
    Engine& engine = fixture.start();
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 6; ++i) {
        RequestOptions options = steady_request(i);
        options.max_tokens = 240;
        options.drafts = i % 3 == 0 ? DraftSource::ngram : DraftSource::model;
        options.reject_drafts = i % 2 == 1;
        requests.push_back(std::move(*engine.submit(std::move(options))));
    }
    for (const auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
    CHECK(n_steps >= 90);
    CHECK(n_allocations == 0);
}

TEST_CASE("nor does a step with recurrent state that leaves snapshots behind") {
    EngineOptions engine_options = small_context();
    int n_steps = 0;
    n_allocations = 0;
    engine_options.on_step = [&](const StepRecord&) {  // between two steps, on their thread
        ++n_steps;
        counts_allocations = n_steps >= 20 && n_steps < 90;
    };
    RecurrentEngine fixture(true, engine_options);
    std::vector<std::unique_ptr<Request>> requests;
    for (uint32_t i = 0; i < 3; ++i) {
        RequestOptions options = drawn(recurrent_tokens(10, i), 100);
        if (i == 1) options.drafts = DraftSource::ngram;
        requests.push_back(fixture->submit(std::move(options)).value());
    }
    for (const auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
    CHECK(n_steps >= 99);
    CHECK(n_allocations == 0);
}

TEST_CASE("memory that runs out after any step, preemptions included, ends requests and loses none") {
    EngineOptions options;
    options.context_tokens = 128;
    options.kv_tokens = 128;
    options.max_sequences = 3;
    uint32_t n_preemptions = 0, n_failed = 0;
    for (int failing = 1; failing < 100; ++failing) {
        Fixture fixture(options);
        int n_steps = 0;
        Gate gate;
        fixture.script.before_run = [&](const StepBatch&) {
            gate.pass();
            allocations_fail = ++n_steps == failing;  // until the next step begins
            return Status();
        };
        Engine& engine = fixture.start();
        std::vector<std::unique_ptr<Request>> requests;
        for (int i = 0; i < 3; ++i) {
            RequestOptions request = prompt_of(30, 60, i);
            request.ignore_eos = true;
            requests.push_back(std::move(*engine.submit(std::move(request))));
        }
        gate.open();
        for (const auto& request : requests) {
            INFO("memory lacks after step " << failing);
            REQUIRE(request->wait(10'000'000'000).ok());
            n_preemptions += request->timeline().n_preemptions;
            n_failed += request->finish_reason() == FinishReason::error;
            if (request->finish_reason() == FinishReason::error)
                CHECK(request->status().code() == StatusCode::out_of_memory);
        }
        // What comes next is served as ever.
        CHECK(run(engine, prompt_of(5, 3)).reason != FinishReason::error);
    }
    CHECK(n_preemptions > 0);
    CHECK(n_failed > 0);
}

}  // namespace takt
