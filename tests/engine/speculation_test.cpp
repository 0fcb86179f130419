// Drafted tokens change when tokens come, and nothing else.
#include "engine/draft_length.h"
#include "engine_fixture.h"

#include <cmath>

namespace takt {
namespace {

using namespace takt::test;

// The same file again, so that its program is another one.
const std::shared_ptr<const Model>& draft_of_tiny_llama() {
    static const std::shared_ptr<const Model> model = load_tiny("llama");
    return model;
}

EngineOptions with_draft_model(EngineOptions options = {}) {
    options.draft_model = draft_of_tiny_llama();
    return options;
}

// A text that repeats itself often, but not always.
int32_t repeating(std::span<const int32_t> tokens) {
    const size_t n = tokens.size();
    return n % 17 == 0 ? kLetterA + static_cast<int32_t>(n / 17 % 20)
                       : kLetterA + static_cast<int32_t>(n % 5);
}

// The draft model is right but for every third position or so.
void script_draft(FakeScript& script, std::function<int32_t(std::span<const int32_t>)> next) {
    script.next = next;
    script.next_of = [next](const Program* program,
                            std::span<const int32_t> tokens) -> std::optional<int32_t> {
        if (program != draft_of_tiny_llama()->program().get()) return std::nullopt;
        const int32_t id = next(tokens);
        return (tokens.size() * 2654435761u >> 7) % 3 == 0 ? id + 1 : id;
    };
}

struct Told {
    Heard heard;
    TimingSummary timing;
    Timeline timeline;
};

Told run_with(Engine& engine, RequestOptions options, DraftSource drafts, uint32_t max_drafts = 0) {
    Told told;
    options.drafts = drafts;
    options.max_drafts = max_drafts;
    options.on_event = [&](const Event& event) { return told.heard.hear(event); };
    auto request = engine.generate(std::move(options));
    INFO(request.status().message());
    REQUIRE(request.ok());
    told.timing = (*request)->timing();
    told.timeline = (*request)->timeline();
    check_identity(told.timing);
    CHECK(told.timing.generated_tokens == told.heard.ids.size());
    return told;
}

void check_same(const Told& plain, const Told& drafted) {
    CHECK(drafted.heard.ids == plain.heard.ids);
    CHECK(drafted.heard.text == plain.heard.text);
    CHECK(drafted.heard.reason == plain.heard.reason);
    CHECK(drafted.heard.status == plain.heard.status);
    CHECK(drafted.heard.n_finished == 1);
    CHECK(drafted.heard.in_order);
}

std::vector<RequestOptions> requests_of_all_kinds() {
    std::vector<RequestOptions> all;
    for (int i = 0; i < 12; ++i) {
        RequestOptions options =
            prompt_of(static_cast<size_t>(20 + 9 * i), static_cast<uint32_t>(60 + 5 * i), i);
        options.ignore_eos = true;
        options.sampler.seed = static_cast<uint64_t>(i);
        if (i % 3 == 1) options.sampler.temperature = 0.7f;
        if (i % 4 == 2) options.sampler.repetition_penalty = 1.2f;
        if (i == 5) options.stop_strings = {"bc"};
        if (i == 6) options.stop_ids = {kLetterA + 11};
        if (i == 7) options.max_tokens = 1;
        if (i == 8) options.max_tokens = 2;
        if (i == 9) options.max_tokens = 100'000;
        all.push_back(std::move(options));
    }
    return all;
}

}  // namespace

TEST_CASE("a request that speculates has the tokens, the text and the end of one that doesn't") {
    EngineOptions options = with_draft_model();
    options.context_tokens = 256;
    Fixture fixture(options);
    script_draft(fixture.script, repeating);
    Engine& engine = fixture.start();
    uint64_t n_accepted = 0, n_drafted = 0;
    for (const RequestOptions& request : requests_of_all_kinds()) {
        const Told plain = run_with(engine, request, DraftSource::none);
        CHECK(plain.timeline.drafted[0] == 0);
        CHECK(plain.timeline.steps.size() == plain.heard.ids.size());
        for (const DraftSource drafts : {DraftSource::automatic, DraftSource::ngram, DraftSource::model}) {
            for (const uint32_t max_drafts : {0u, 1u, 3u, kMaxDrafts}) {
                const Told drafted = run_with(engine, request, drafts, max_drafts);
                check_same(plain, drafted);
                for (size_t i = 0; i < 16; ++i) {
                    CHECK(drafted.timeline.accepted[i] <= drafted.timeline.drafted[i]);
                    if (max_drafts > 0 && i >= max_drafts) CHECK(drafted.timeline.drafted[i] == 0);
                    n_accepted += drafted.timeline.accepted[i];
                    n_drafted += drafted.timeline.drafted[i];
                }
                CHECK(drafted.timeline.steps.size() <= drafted.heard.ids.size());
            }
        }
    }
    CHECK(n_accepted > 1000);
    CHECK(n_drafted > n_accepted);
}

TEST_CASE("tokens of one step are events of their own with one computed time, and say so") {
    Fixture fixture(with_draft_model());
    script_draft(fixture.script, repeating);
    fixture.script.step_ns = 1000;
    fixture.script.clock = fixture.manual.get();
    Engine& engine = fixture.start();
    RequestOptions options = prompt_of(10, 100);
    const Told told = run_with(engine, options, DraftSource::model);
    const std::vector<Event>& events = told.heard.events;
    uint32_t n_bursts = 0;
    for (size_t i = 0; i + 1 < events.size(); ++i) {
        CHECK(events[i].step_token_index < events[i].step_tokens);
        if (events[i].step_token_index == 0) continue;
        ++n_bursts;
        CHECK(events[i].step_token_index == events[i - 1].step_token_index + 1);
        CHECK(events[i].step_tokens == events[i - 1].step_tokens);
        CHECK(events[i].computed_ns == events[i - 1].computed_ns);
        CHECK(events[i].ready_ns == events[i - 1].ready_ns);
    }
    CHECK(n_bursts > 2);
    CHECK(told.timing.step_gap_ns.count == told.timeline.steps.size() - 1);
    CHECK(told.timing.itl_ns.count == told.heard.ids.size() - told.timeline.steps.front().n_tokens);
    CHECK(told.timeline.draft_ns > 0);
}

TEST_CASE("a reader that stops amid the tokens of a step hears no more of them") {
    Fixture fixture(with_draft_model());
    script_draft(fixture.script, repeating);
    Engine& engine = fixture.start();
    for (const size_t n_wanted : {1, 2, 5, 6, 7, 8, 9, 23}) {
        Heard heard;
        RequestOptions options = prompt_of(10, 60);
        options.stop_strings = {"zzz"};
        options.on_event = [&](const Event& event) {
            heard.hear(event);
            return heard.ids.size() < n_wanted;
        };
        auto request = engine.submit(std::move(options));
        REQUIRE(request.ok());
        REQUIRE((*request)->wait(UINT64_MAX).ok());
        CHECK(heard.ids.size() == n_wanted);
        CHECK(heard.reason == FinishReason::cancelled);
        CHECK(heard.n_finished == 1);
        CHECK((*request)->timing().generated_tokens == n_wanted);
        CHECK(heard.text.size() == n_wanted);  // each token is a letter
    }
}

TEST_CASE("requests that speculate together, with few pages, have the tokens of those alone") {
    EngineOptions options = with_draft_model();
    options.context_tokens = 256;
    options.kv_tokens = 320;
    options.max_sequences = 6;
    options.prefix_reuse = GENERATE(false, true);
    options.chunk_tokens = GENERATE(64u, 4u);
    Fixture fixture(options);
    script_draft(fixture.script, repeating);
    Engine& engine = fixture.start();
    const std::vector<RequestOptions> all = requests_of_all_kinds();
    std::vector<Told> alone;
    for (const RequestOptions& request : all) alone.push_back(run_with(engine, request, DraftSource::none));
    std::vector<Heard> heard(all.size());
    std::vector<std::unique_ptr<Request>> requests;
    for (size_t i = 0; i < all.size(); ++i) {
        RequestOptions request = all[i];
        request.drafts = i % 3 == 0 ? DraftSource::ngram : DraftSource::model;
        if (i % 5 == 4) request.drafts = DraftSource::none;
        auto submitted = submit(engine, std::move(request), heard[i]);
        REQUIRE(submitted.ok());
        requests.push_back(std::move(*submitted));
    }
    for (size_t i = 0; i < all.size(); ++i) {
        REQUIRE(requests[i]->wait(UINT64_MAX).ok());
        INFO(i << " " << heard[i].message);
        CHECK(heard[i].ids == alone[i].heard.ids);
        CHECK(heard[i].reason == alone[i].heard.reason);
    }
}

TEST_CASE("a draft model that fails leaves the request to itself") {
    Fixture fixture(with_draft_model());
    script_draft(fixture.script, repeating);
    fixture.script.before_run_of = [](const Program* program) {
        if (program != draft_of_tiny_llama()->program().get()) return Status();
        return Status(StatusCode::device_failed, "The draft's device is gone.");
    };
    Engine& engine = fixture.start();
    const Told plain = run_with(engine, prompt_of(10, 50), DraftSource::none),
               drafted = run_with(engine, prompt_of(10, 50), DraftSource::model);
    check_same(plain, drafted);
    CHECK(drafted.timeline.accepted[0] == 0);
}

TEST_CASE("logits that aren't finite behind a draft end the request where they would without") {
    Fixture fixture(with_draft_model());
    script_draft(fixture.script, repeating);
    fixture.script.poison = [](uint64_t, uint32_t position) {
        return position == 31 ? std::numeric_limits<float>::infinity() : std::nanf("");
    };
    Engine& engine = fixture.start();
    const Told plain = run_with(engine, prompt_of(10, 50), DraftSource::none),
               drafted = run_with(engine, prompt_of(10, 50), DraftSource::ngram);
    CHECK(plain.heard.status == StatusCode::logits_not_finite);
    check_same(plain, drafted);
    CHECK(drafted.heard.message == plain.heard.message);
}

TEST_CASE("by the classic rule a sampled text comes from the same logits, and greedy ones are as ever") {
    Fixture fixture(with_draft_model());
    script_draft(fixture.script, repeating);
    Engine& engine = fixture.start();
    for (const DraftSource drafts : {DraftSource::ngram, DraftSource::model}) {
        RequestOptions options = prompt_of(10, 200);
        options.ignore_eos = true;
        options.reject_drafts = true;
        const Told greedy = run_with(engine, options, drafts);
        check_same(run_with(engine, options, DraftSource::none), greedy);
        options.sampler.temperature = 0.5f;  // the token that stands out has nearly all probability
        uint32_t n_likely = 0;
        const Told drafted = run_with(engine, options, drafts);
        REQUIRE(drafted.heard.ids.size() == 200);
        for (size_t i = 0; i < 200; ++i) {
            std::vector<int32_t> before = options.prompt_ids;
            before.insert(before.end(), drafted.heard.ids.begin(),
                          drafted.heard.ids.begin() + static_cast<ptrdiff_t>(i));
            n_likely += drafted.heard.ids[i] == repeating(before);
        }
        CHECK(n_likely > 150);
        CHECK(n_likely < 200);
        CHECK(drafted.timeline.accepted[0] > 20);
        CHECK(drafted.timeline.accepted[0] < drafted.timeline.drafted[0]);
    }
}

TEST_CASE("speculation that can't be is refused by name") {
    {
        Fixture fixture;
        Engine& engine = fixture.start();
        RequestOptions options = prompt_of(10, 5);
        options.drafts = DraftSource::model;
        const auto refused = engine.submit(options);
        CHECK(refused.status().code() == StatusCode::invalid_argument);
        CHECK(std::string(refused.status().message()).find("draft model") != std::string::npos);
        options.drafts = DraftSource::ngram;
        options.max_drafts = kMaxDrafts + 1;
        CHECK(engine.submit(options).status().code() == StatusCode::invalid_argument);
    }
    {
        EngineOptions options;
        options.deterministic = true;
        Fixture fixture(options);
        RequestOptions request = prompt_of(10, 5);
        request.drafts = DraftSource::ngram;
        request.reject_drafts = true;
        const auto refused = fixture.start().submit(request);
        CHECK(refused.status().code() == StatusCode::invalid_argument);
        CHECK(std::string(refused.status().message()).find("deterministic") != std::string::npos);
    }
    Fixture fixture;
    fixture.start();
    EngineOptions options;
    options.draft_model = tiny_gemma();
    const auto engine = Engine::create(fixture.runtime, tiny_llama(), options);
    REQUIRE(!engine.ok());
    CHECK(engine.status().code() == StatusCode::invalid_argument);
    CHECK(std::string(engine.status().message()).find(" in the draft model and ") != std::string::npos);
}

}  // namespace takt
