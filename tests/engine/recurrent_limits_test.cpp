// Recurrent state beside drafts, kept requests, contexts that slide and what an engine refuses.
#include "engine/profile.h"
#include "recurrent_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

// The same five ids over and over: greedy answers mostly settle into a text that can be guessed.
std::vector<int32_t> repeating(size_t n) {
    std::vector<int32_t> ids(n);
    for (size_t i = 0; i < n; ++i) ids[i] = kLetterA + static_cast<int32_t>(i % 5);
    return ids;
}

}  // namespace

TEST_CASE("drafts that were wrong leave no trace in recurrent state") {
    const bool computes = GENERATE(false, true);
    EngineOptions options = small_context();
    // The fake backend goes on with it, mostly; so does the model when it draws the likeliest.
    const auto next = [](std::span<const int32_t> tokens) {
        return kLetterA + static_cast<int32_t>(tokens.size() % (tokens.size() % 17 == 0 ? 7 : 5));
    };
    RecurrentEngine fixture(computes, options, next), plain(computes, without_snapshots(), next);
    for (const float temperature : {0.0f, 0.3f, 1.0f}) {
        RequestOptions ask = drawn(repeating(60), 120);
        ask.sampler.temperature = temperature;
        ask.sampler.repetition_penalty = 1;
        const std::vector<int32_t> expected = answer(plain.engine(), ask).ids;
        ask.drafts = DraftSource::ngram;
        CHECK(answer(fixture.engine(), ask).ids == expected);
    }
    const EngineStatistics statistics = fixture->statistics();
    CHECK(statistics.drafted_tokens > statistics.accepted_tokens);
    CHECK(statistics.accepted_tokens > 0);
}

TEST_CASE("a reader that stops amid accepted drafts leaves a request that goes on elsewhere") {
    // A text without surprises, so that drafts come in long runs.
    const auto next = [](std::span<const int32_t> tokens) {
        return kLetterA + static_cast<int32_t>(tokens.size() % 5);
    };
    RecurrentEngine here(false, small_context(), next), there(false, small_context(), next);
    RequestOptions ask = drawn(repeating(60), 120, true);
    ask.sampler = {};
    const std::vector<int32_t> whole = answer(there.engine(), ask).ids;
    uint32_t n_gone_back = 0;
    for (uint32_t n_told = 40; n_told < 48; ++n_told) {
        RequestOptions stopped = ask;
        stopped.drafts = DraftSource::ngram;
        stopped.cache_key = n_told;
        Heard heard;
        stopped.on_event = [&](const Event& event) { return heard.hear(event) && heard.ids.size() < n_told; };
        auto request = here->submit(std::move(stopped));
        REQUIRE(request.ok());
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        Bytes bytes;
        Transfer transfer;
        REQUIRE(here->export_state(**request, to(bytes), transfer).ok());
        n_gone_back += transfer.n_computed < transfer.n_tokens - 1;
        CHECK(transfer.n_computed >= 32);
        RequestOptions rest = ask;
        rest.prompt_ids.clear();
        rest.max_tokens = 20;
        const Imported moved = imported(there.engine(), bytes, rest);
        INFO(moved.status.message() << moved.heard.message);
        REQUIRE(moved.status.ok());
        const auto from = whole.begin() + (transfer.n_tokens - 60);
        CHECK(moved.heard.ids == std::vector<int32_t>(from, from + 20));
    }
    CHECK(n_gone_back > 0);
}

TEST_CASE("a draft model with recurrent state is refused by the name of its group") {
    Fixture fixture;
    fixture.start();
    EngineOptions options;
    options.draft_model = recurrent_model();
    const auto engine = Engine::create(fixture.runtime, tiny_llama(), options);
    CHECK(engine.status().code() == StatusCode::unsupported);
    CHECK(engine.status().message() ==
          "The draft model keeps recurrent state (group recurrent), which can't be taken back where a guess "
          "was wrong.");
}

TEST_CASE("kept requests hold their slots, and who finds none is told so") {
    RecurrentEngine fixture(false, small_context(2));  // ten slots, sixteen pages
    std::vector<std::unique_ptr<Request>> kept;
    const auto ask = [&](uint32_t i) {
        Heard heard;
        kept.push_back(submit(fixture.engine(), drawn(recurrent_tokens(10, i), 3, true), heard).value());
        REQUIRE(kept.back()->wait(UINT64_MAX).ok());
        return heard.message;
    };
    for (uint32_t i = 0; i < 10; ++i) CHECK(ask(i).empty());
    CHECK(ask(10) ==
          "The recurrent state of 10 tokens needs a slot, 0 of 10 are free. The others belong to 10 kept "
          "requests (keep_state) and 0 transfers.");
    kept.clear();
    CHECK(ask(11).empty());
}

TEST_CASE("a kept request whose slot is forked without room for a copy goes on after the fork ends") {
    const bool computes = GENERATE(false, true);
    RecurrentEngine fixture(computes, small_context(2)), plain(computes, without_snapshots());
    const std::vector<int32_t> prompt = recurrent_tokens(40);
    const Answer source = answer(fixture.engine(), drawn(prompt, 0, true));
    std::vector<Heard> heard(6);
    std::vector<std::unique_ptr<Request>> forks;
    for (Heard& own : heard) {
        RequestOptions ask = drawn({}, 50);
        ask.sampler.seed = forks.size();
        ask.on_event = [&own](const Event& event) { return own.hear(event); };
        forks.push_back(fixture->fork(*source.request, std::move(ask), 0).value());
    }
    for (size_t i = 0; i < forks.size(); ++i) {
        REQUIRE(forks[i]->wait(UINT64_MAX).ok());
        RequestOptions alone = drawn(prompt, 50);
        alone.sampler.seed = i;
        CHECK(heard[i].ids == answer(plain.engine(), alone).ids);
        CHECK(forks[i]->timing().cached_tokens == 39);
    }
}

TEST_CASE("a profile counts recurrent state with keys and values") {
    RecurrentEngine fixture(true, small_context());
    ProfileOptions options;
    options.n_sequences = 3;
    options.first_position = 40;
    options.repetitions = 1;
    options.kv_dtype = DType::f32;
    const auto profile = profile_step(fixture->runtime(), *recurrent_model(), options);
    INFO(profile.status().message());
    REQUIRE(profile.ok());
    const uint64_t kv_floats = (41 + kRecurrentWindow) * 2 * (32 + 32), recurrent = 2 * (192 + 64);
    CHECK(profile->kv_bytes == 3 * (kv_floats + recurrent) * sizeof(float));
    CHECK(profile->median_ns > 0);
}

TEST_CASE("a context that slides computes its recurrent state anew") {
    EngineOptions options = small_context();
    options.context_tokens = 64;
    RequestOptions ask = drawn(recurrent_tokens(20), 300);
    ask.context_policy = ContextPolicy::slide;
    ask.pinned_tokens = 4;
    std::vector<std::vector<int32_t>> answers;
    for (const bool computes : {false, true}) {
        for (const bool reuse : {false, true}) {
            options.prefix_reuse = reuse;
            RecurrentEngine fixture(computes, options);
            answers.push_back(answer(fixture.engine(), ask).ids);
            CHECK(no_pages_in_use(fixture.engine()));
        }
    }
    CHECK(answers[0] == answers[1]);
    CHECK(answers[2] == answers[3]);
}

TEST_CASE("an evaluation and a request with recurrent state don't see each other") {
    const bool computes = GENERATE(false, true);
    RecurrentEngine fixture(computes, small_context()), plain(computes, without_snapshots());
    const std::vector<int32_t> ids = recurrent_tokens(60);
    const auto logits = [&](Engine& engine, uint32_t chunk) {
        std::vector<float> all;
        const Status status = engine.evaluate(ids, 10, chunk, [&](size_t, std::span<const float> row) {
            all.insert(all.end(), row.begin(), row.end());
            return true;
        });
        INFO(status.message());
        REQUIRE(status.ok());
        return all;
    };
    const std::vector<float> alone = logits(plain.engine(), 0);
    Heard heard;
    auto request = submit(fixture.engine(), drawn(ids, 100), heard);
    CHECK(logits(fixture.engine(), 7) == alone);
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    CHECK(heard.ids == answer(plain.engine(), drawn(ids, 100)).ids);
    CHECK(logits(fixture.engine(), 0) == alone);
}

}  // namespace takt
