// Where kept requests, transfers, drafts and statistics meet.
#include "transfer_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

}  // namespace

TEST_CASE("a prompt that is only kept never slides, however many steps it takes") {
    EngineOptions options;
    options.context_tokens = 256;
    options.chunk_tokens = 16;
    Fixture fixture(options);
    Engine& engine = fixture.start();
    RequestOptions pin = prompt_of(100, 0);
    pin.keep_state = true;
    pin.context_policy = ContextPolicy::slide;
    auto kept = engine.submit(pin);
    REQUIRE((*kept)->wait(UINT64_MAX).ok());
    CHECK((*kept)->timeline().n_slides == 0);
    Bytes bytes;
    Transfer transfer;
    CHECK(engine.export_state(**kept, to(bytes), transfer).ok());
    CHECK(transfer.n_computed == 99);
    auto fork = engine.fork(**kept, prompt_of(1, 3), 0);
    REQUIRE((*fork)->wait(UINT64_MAX).ok());
    CHECK((*fork)->timing().cached_tokens == 99);
}

TEST_CASE("a running request waits for pages that a transfer will give back") {
    EngineOptions options;
    options.context_tokens = 128;
    options.kv_tokens = 128;
    options.max_sequences = 1;
    Fixture here(options), there(options);
    const Bytes bytes = exported(there.start(), sampled(prompt_of(70, 3), true));
    // The first page is full after twelve tokens: the import has begun by then.
    std::atomic<int> n_steps = 0;
    here.script.before_run = [&](const StepBatch&) {
        if (++n_steps < 12) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return Status();
    };
    Engine& engine = here.start();
    RequestOptions asked = prompt_of(20, 100);
    asked.ignore_eos = true;
    asked.on_event = [](const Event&) { return true; };
    auto running = engine.submit(asked);
    // The import holds three pages of the four until the running request has wanted them and given way.
    size_t n_calls = 0;
    From from(bytes);
    const ReadBytes slowly = [&](std::span<std::byte> out) {
        if (++n_calls == 6) {  // behind header and tokens: it has its pages
            for (int i = 0; i < 2000 && (*running)->timeline().n_preemptions == 0; ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return from(out);
    };
    Transfer transfer;
    auto import = engine.import_state(slowly, prompt_of(0, 1), transfer);
    REQUIRE(import.ok());
    REQUIRE((*import)->wait(UINT64_MAX).ok());
    CHECK((*running)->timeline().n_preemptions > 0);
    REQUIRE((*running)->wait(UINT64_MAX).ok());
    INFO((*running)->status().message());
    CHECK((*running)->finish_reason() == FinishReason::length);
    CHECK((*running)->timing().generated_tokens == 100);
}

TEST_CASE("statistics count the tokens that requests were given, each once") {
    EngineOptions options;
    options.draft_model = load_tiny("llama");
    options.context_tokens = 128;
    options.kv_tokens = 128;
    options.max_sequences = 1;
    uint64_t n_of_steps = 0;
    options.on_step = [&](const StepRecord& step) { n_of_steps += step.generated_tokens; };
    Fixture fixture(options);
    fixture.script.next = [](std::span<const int32_t> tokens) {
        return kLetterA + static_cast<int32_t>(tokens.size() % 4);
    };
    Engine& engine = fixture.start();
    RequestOptions pin = prompt_of(40, 0, 3);
    pin.keep_state = true;
    auto kept = engine.submit(pin);
    REQUIRE((*kept)->wait(UINT64_MAX).ok());
    uint64_t n_told = 0, n_lacking = 0;
    for (size_t stop_after = 1; stop_after < 100; stop_after += 7) {  // amid drafts, or where room ends
        RequestOptions asked = prompt_of(20, 100, static_cast<int32_t>(stop_after));
        asked.ignore_eos = true;
        asked.drafts = stop_after % 2 == 0 ? DraftSource::ngram : DraftSource::model;
        Heard heard;
        asked.on_event = [&](const Event& event) {
            heard.hear(event);
            return heard.ids.size() < stop_after;
        };
        auto request = engine.submit(std::move(asked));
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        n_told += (*request)->timing().generated_tokens;
        CHECK((*request)->timing().generated_tokens == heard.ids.size());
        n_lacking += heard.status == StatusCode::out_of_memory;
    }
    CHECK(n_lacking > 0);
    engine.cancel_all_and_wait();
    CHECK(engine.statistics().generated_tokens == n_told);
    CHECK(n_of_steps == n_told);
}

TEST_CASE("the draft model's time lies within prefill and decode, never in the queue") {
    EngineOptions options;
    options.draft_model = load_tiny("llama");
    options.chunk_tokens = 32;
    Fixture fixture(options);
    fixture.script.step_ns = 1000;
    fixture.script.row_ns = 10;
    fixture.script.clock = fixture.manual.get();
    Engine& engine = fixture.start();
    for (const size_t n_prompt : {5u, 40u, 150u}) {
        RequestOptions asked = prompt_of(n_prompt, 40);
        asked.on_event = [](const Event&) { return true; };
        auto request = engine.generate(std::move(asked));
        REQUIRE(request.ok());
        const TimingSummary timing = (*request)->timing();
        CHECK(timing.queue_ns == 0);
        CHECK((*request)->timeline().draft_ns > 0);
        CHECK((*request)->timeline().draft_ns < timing.prefill_ns + timing.decode_ns);
        check_identity(timing);
    }
}

}  // namespace takt
