// A context that is full slides: what stays is computed as a prompt of these tokens would be, and all of it
// is told.
#include "engine_fixture.h"
#include "slide_check.h"

namespace takt {
namespace {

using namespace takt::test;

constexpr uint32_t kContext = 64;

EngineOptions small_context() {
    EngineOptions options;
    options.context_tokens = kContext;
    return options;
}

RequestOptions sliding(size_t n_prompt, uint32_t max_tokens, uint32_t n_pinned, int32_t salt = 0) {
    RequestOptions options = prompt_of(n_prompt, max_tokens, salt);
    options.ignore_eos = true;
    options.context_policy = ContextPolicy::slide;
    options.pinned_tokens = n_pinned;
    return options;
}

uint32_t vocab_of(const Model& model) {
    return model.program()->vocab_size;
}

}  // namespace

TEST_CASE("tokens after a slide are those of a prompt of the kept ids, greedy and drawn") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();
    EngineOptions options = small_context();
    options.prefix_reuse = GENERATE(true, false);
    options.page_tokens = GENERATE(16u, 32u);
    options.chunk_tokens = GENERATE(7u, 0u);
    Fixture fixture(options, model), other(small_context(), model);
    Engine &engine = fixture.start(), &fresh = other.start();
    for (const uint32_t n_pinned : {0u, 4u, 20u, 62u}) {
        for (const bool draws : {false, true}) {
            RequestOptions request = sliding(10, 200, n_pinned);
            if (draws) {
                request.sampler.temperature = 1;
                request.sampler.seed = 77;
                request.sampler.repetition_penalty = 1.2f;
            }
            Heard heard;
            RequestOptions asked = request;
            asked.on_event = [&](const Event& event) { return heard.hear(event); };
            const auto ended = engine.generate(asked);
            REQUIRE(ended.ok());
            INFO(heard.message);
            REQUIRE(heard.reason == FinishReason::length);
            REQUIRE(heard.ids.size() == 200);
            const uint32_t n_slides = check_slides(fresh, request, heard.ids, kContext, vocab_of(*model));
            CHECK(n_slides > 3);
            CHECK((*ended)->timeline().n_slides == n_slides);
            check_identity((*ended)->timing());
        }
    }
}

TEST_CASE("events tell how often the context slid and how many tokens went") {
    Fixture fixture(small_context());
    const Heard heard = run(fixture.start(), sliding(10, 120, 4));
    // 54 tokens fill it; 4 and the newest 30 of 60 stay, and 30 more fill it again.
    REQUIRE(heard.events.size() == 121);
    for (uint32_t i = 0; i < 121; ++i) {
        const uint32_t n_slides = i < 54 ? 0 : 1 + (std::min(i, 119u) - 54) / 30;
        INFO("event " << i);
        CHECK(heard.events[i].n_slides == n_slides);
        CHECK(heard.events[i].dropped_tokens == n_slides * 30);
    }
    CHECK(heard.in_order);
}

TEST_CASE("a context that doesn't slide, or needn't, is as it was") {
    Fixture fixture(small_context());
    Engine& engine = fixture.start();
    RequestOptions plain = prompt_of(10, 100);
    plain.ignore_eos = true;
    const Heard full = run(engine, plain);
    CHECK(full.reason == FinishReason::context_full);
    CHECK(full.status == StatusCode::ok);
    CHECK(full.message == "The context is full: it holds 64 tokens, prompt and max_tokens need 110.");
    CHECK(full.ids.size() == 54);
    CHECK(full.events.back().n_slides == 0);
    const Heard fits = run(engine, sliding(10, 54, 4));
    CHECK(fits.reason == FinishReason::length);
    CHECK(fits.message.empty());
    CHECK(fits.ids == full.ids);
    CHECK(fits.events.back().n_slides == 0);
    CHECK(run(engine, sliding(10, 55, 4)).events.back().n_slides == 1);
}

TEST_CASE("what can't slide is refused by name and value") {
    Fixture fixture(small_context());
    Engine& engine = fixture.start();
    const auto refused = [&](const RequestOptions& request) {
        const auto made = engine.submit(request);
        CHECK_FALSE(made.ok());
        return made.status().message();
    };
    CHECK(refused(sliding(10, 100, 63)) ==
          "pinned_tokens is 63, the context holds 64 and needs 2 others at least.");
    CHECK(refused(sliding(10, 2'000'000, 0)) ==
          "max_tokens is 2000000, a request whose context slides gives 1048576 at most.");
    CHECK(refused(sliding(64, 100, 0)).starts_with("Prompt has 64 tokens"));
    RequestOptions stops = sliding(10, 100, 3);
    stops.context_policy = ContextPolicy::stop;
    CHECK(refused(stops) == "pinned_tokens is 3, but the context doesn't slide (context_policy).");
}

TEST_CASE("requests that slide at once, with pages for few, have the tokens of each alone") {
    EngineOptions options = small_context();
    options.kv_tokens = GENERATE(64u, 128u, 1024u);
    options.max_sequences = 5;
    options.page_tokens = 16;
    Fixture fixture(options, tiny_gemma());
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    std::vector<Heard> heard(5);
    std::vector<std::unique_ptr<Request>> requests;
    const auto request = [](int i) {
        RequestOptions asked = sliding(5 + static_cast<size_t>(i) * 9, 150, static_cast<uint32_t>(i) * 5, i);
        if (i % 2 == 1) asked.sampler.temperature = 1;
        return asked;
    };
    for (int i = 0; i < 5; ++i)
        requests.push_back(std::move(*submit(engine, request(i), heard[static_cast<size_t>(i)])));
    gate.open();
    for (const auto& running : requests) REQUIRE(running->wait(UINT64_MAX).ok());
    Fixture alone(small_context(), tiny_gemma());
    Engine& other = alone.start();
    for (int i = 0; i < 5; ++i) {
        const Heard& got = heard[static_cast<size_t>(i)];
        INFO("request " << i << ": " << got.message);
        CHECK(got.reason == FinishReason::length);
        CHECK(got.in_order);
        CHECK(got.ids == run(other, request(i)).ids);
    }
    CHECK(engine.statistics().pages_in_use == 0);
}

TEST_CASE("a request that slides can be cancelled") {
    Fixture fixture(small_context());
    RequestOptions request = sliding(10, 100'000, 4);
    int n_tokens = 0;
    request.on_event = [&](const Event&) { return ++n_tokens < 1000; };
    auto running = fixture.start().submit(request);
    REQUIRE((*running)->wait(UINT64_MAX).ok());
    CHECK((*running)->finish_reason() == FinishReason::cancelled);
    CHECK((*running)->timeline().n_slides > 25);
}

}  // namespace takt
