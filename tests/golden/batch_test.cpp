// A batch gives every request the tokens and the bits it has alone.
#include <cstring>

#include "recording_backend.h"

namespace takt {
namespace {

using namespace takt::test;

struct Outcome {
    std::vector<std::vector<int32_t>> tokens;             // per request
    std::vector<std::vector<std::vector<float>>> logits;  // per request, per generated token
    uint64_t n_cached = 0;                                // positions that weren't computed again
    uint32_t n_preemptions = 0;
};

struct Setup {
    bool at_once = false;
    uint32_t n_threads = 1, chunk_tokens = 512, context_tokens = 512, kv_tokens = 512 * 10;
    bool prefix_reuse = false;
    uint32_t max_tokens = 12, page_tokens = 32;
    std::optional<DType> kv_dtype = {};
};

RequestOptions request_for(size_t index, std::vector<int32_t> prompt, uint32_t max_tokens,
                           std::vector<int32_t>& out_tokens) {
    RequestOptions options;
    options.prompt_ids = std::move(prompt);
    options.max_tokens = max_tokens;
    options.ignore_eos = true;
    options.sampler.temperature = 0.8f;  // wants logits, so that they can be compared
    options.sampler.seed = 1000 + index;
    options.on_event = [&out_tokens](const Event& event) {
        if (event.type == EventType::token) out_tokens.push_back(event.token_id);
        return true;
    };
    return options;
}

// Runs the prompts in one engine, all at once or one after the other.
Outcome run_prompts(const std::shared_ptr<const Model>& model,
                    const std::vector<std::vector<int32_t>>& prompts, const Setup& setup) {
    Bits bits;
    EngineOptions engine_options;
    engine_options.context_tokens = setup.context_tokens;
    engine_options.chunk_tokens = setup.chunk_tokens;
    engine_options.kv_tokens = setup.kv_tokens;
    engine_options.max_sequences = 10;
    engine_options.prefix_reuse = setup.prefix_reuse;
    engine_options.page_tokens = setup.page_tokens;
    engine_options.kv_dtype = setup.kv_dtype;
    std::shared_ptr<Runtime> host;
    const auto engine = make_recording_engine(model, engine_options, bits, host, setup.n_threads);

    Outcome outcome;
    outcome.tokens.resize(prompts.size());
    std::vector<std::unique_ptr<Request>> requests;
    for (size_t i = 0; i < prompts.size(); ++i) {
        auto request = engine->submit(request_for(i % 10, prompts[i], setup.max_tokens, outcome.tokens[i]));
        REQUIRE(request.ok());
        requests.push_back(std::move(*request));
        if (!setup.at_once) REQUIRE(requests.back()->wait(UINT64_MAX).ok());
    }
    for (auto& request : requests) {
        REQUIRE(request->wait(UINT64_MAX).ok());
        CHECK(request->finish_reason() == FinishReason::length);
        outcome.n_cached += request->timing().cached_tokens;
        outcome.n_preemptions += request->timeline().n_preemptions;
    }
    // Sequences are named in the order of submission.
    uint64_t sequence = UINT64_MAX;
    for (const auto& [key, row] : bits) {
        if (key.first != sequence) outcome.logits.emplace_back();
        sequence = key.first;
        outcome.logits.back().push_back(row);
    }
    return outcome;
}

std::vector<std::vector<int32_t>> ten_prompts(const Model& model) {
    std::vector<std::vector<int32_t>> prompts;
    for (int i = 0; i < 10; ++i) {
        std::string text = "Question " + std::to_string(i) + ": what is ";
        for (int j = 0; j <= i * 3; ++j) text += std::to_string(j * 7 + i) + " plus ";
        auto ids = model.tokenizer()->encode(text + "one?", {});
        REQUIRE(ids.ok());
        prompts.push_back(*ids);
    }
    return prompts;
}

void check_same(const Outcome& alone, const Outcome& batch) {
    REQUIRE(alone.logits.size() == batch.logits.size());
    for (size_t i = 0; i < alone.tokens.size(); ++i) {
        INFO("request " << i);
        CHECK(alone.tokens[i].size() >= 12);
        CHECK(alone.tokens[i] == batch.tokens[i]);
        REQUIRE(alone.logits[i].size() == batch.logits[i].size());
        for (size_t step = 0; step < alone.logits[i].size(); ++step) {
            const auto& a = alone.logits[i][step];
            const auto& b = batch.logits[i][step];
            REQUIRE(a.size() == b.size());
            CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
        }
    }
}

}  // namespace

TEST_CASE("ten requests at once have the tokens and the logits' bits that each has alone") {
    const std::string name = GENERATE(from_range(std::begin(kRealModels), std::begin(kRealModels) + 3));
    const auto model = load_real_model(name);
    if (!model) return;
    const auto prompts = ten_prompts(*model);
    const Outcome alone = run_prompts(model, prompts, {});
    CHECK(alone.logits.size() == 10);
    Setup setup;
    setup.at_once = true;
    SECTION("in one batch on two threads") {
        setup.n_threads = 2;
        check_same(alone, run_prompts(model, prompts, setup));
    }
    SECTION("in small chunks on three threads") {
        setup.n_threads = 3;
        setup.chunk_tokens = 33;
        check_same(alone, run_prompts(model, prompts, setup));
    }
    SECTION("with pages for few, so that some give theirs away and are computed again") {
        Setup long_answers;
        long_answers.max_tokens = setup.max_tokens = 70;
        setup.context_tokens = setup.kv_tokens = 224;
        setup.prefix_reuse = GENERATE(false, true);
        const Outcome crowded = run_prompts(model, prompts, setup);
        CHECK(crowded.n_preemptions > 0);
        check_same(run_prompts(model, prompts, long_answers), crowded);
    }
    SECTION("a second time, from the pages of the first") {
        setup.prefix_reuse = true;
        setup.at_once = false;
        auto twice = prompts;
        twice.insert(twice.end(), prompts.begin(), prompts.end());
        Outcome both = run_prompts(model, twice, setup);
        CHECK(both.n_cached > 0);
        Outcome second;
        second.tokens.assign(both.tokens.begin() + 10, both.tokens.end());
        second.logits.assign(both.logits.begin() + 10, both.logits.end());
        check_same(alone, second);
    }
}

TEST_CASE("pages of any size hold the same keys and values: tokens and the logits' bits stay") {
    const std::string name = GENERATE(from_range(std::begin(kRealModels), std::begin(kRealModels) + 2));
    const auto model = load_real_model(name);
    if (!model) return;
    const auto prompts = ten_prompts(*model);
    Setup setup;
    setup.at_once = true;
    setup.n_threads = 2;
    setup.kv_dtype = GENERATE(DType::f16, DType::q8_0, DType::f32);
    setup.page_tokens = 32;
    const Outcome usual = run_prompts(model, prompts, setup);
    for (const uint32_t page_tokens : {16u, 64u, 512u}) {
        INFO(name << " with pages of " << page_tokens);
        setup.page_tokens = page_tokens;
        check_same(usual, run_prompts(model, prompts, setup));
    }
}

}  // namespace takt
