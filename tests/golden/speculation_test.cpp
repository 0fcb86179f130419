// Real models draft for one another: the same tokens, and a model that drafts for itself is always right.
#include "golden_engine.h"

#include <numeric>

namespace takt {
namespace {

using namespace takt::test;

struct Answer {
    std::vector<int32_t> tokens;
    uint32_t n_drafted = 0, n_accepted = 0;
};

std::vector<RequestOptions> questions(const Model& model, uint32_t max_tokens) {
    const char* const prompts[] = {"The rivers of Europe are",
                                   "def add(a, b):\n    return a + b\n\ndef sub(a, b):\n    return",
                                   "one two three four one two three four one two", "In the year 1789"};
    std::vector<RequestOptions> all;
    for (const char* prompt : prompts) {
        for (const float temperature : {0.0f, 0.8f}) {
            RequestOptions options;
            auto ids = model.tokenizer()->encode(prompt, {});
            REQUIRE(ids.ok());
            options.prompt_ids = *ids;
            options.max_tokens = max_tokens;
            options.ignore_eos = true;
            options.sampler.temperature = temperature;
            options.sampler.seed = all.size();
            all.push_back(std::move(options));
        }
    }
    return all;
}

// All at once, or one after the other.
std::vector<Answer> ask(Engine& engine, std::vector<RequestOptions> all, DraftSource drafts, bool at_once) {
    std::vector<Answer> answers(all.size());
    std::vector<std::unique_ptr<Request>> requests;
    for (size_t i = 0; i < all.size(); ++i) {
        all[i].drafts = drafts;
        all[i].on_event = [&tokens = answers[i].tokens](const Event& event) {
            if (event.type == EventType::token) tokens.push_back(event.token_id);
            return true;
        };
        auto request = engine.submit(std::move(all[i]));
        REQUIRE(request.ok());
        requests.push_back(std::move(*request));
        if (!at_once) REQUIRE(requests.back()->wait(UINT64_MAX).ok());
    }
    for (size_t i = 0; i < all.size(); ++i) {
        REQUIRE(requests[i]->wait(UINT64_MAX).ok());
        const Timeline timeline = requests[i]->timeline();
        answers[i].n_drafted = std::reduce(timeline.drafted.begin(), timeline.drafted.end());
        answers[i].n_accepted = std::reduce(timeline.accepted.begin(), timeline.accepted.end());
    }
    return answers;
}

void check_same(const std::vector<Answer>& plain, const std::vector<Answer>& drafted) {
    for (size_t i = 0; i < plain.size(); ++i) {
        INFO(i);
        CHECK(drafted[i].tokens == plain[i].tokens);
    }
}

}  // namespace

TEST_CASE("a model that drafts for itself, or its text, gives the tokens that it gives without") {
    const auto model =
        load_real_model(GENERATE(from_range(std::begin(kRealModels), std::begin(kRealModels) + 2)));
    if (!model) return;
    EngineOptions options;
    options.context_tokens = 256;
    options.draft_model = model;
    const auto engine = make_engine(model, options, 2);
    const auto all = questions(*model, kSanitized ? 12 : 40);
    const std::vector<Answer> plain = ask(*engine, all, DraftSource::none, false);
    for (const bool at_once : {false, true}) {
        check_same(plain, ask(*engine, all, DraftSource::ngram, at_once));
        const std::vector<Answer> itself = ask(*engine, all, DraftSource::model, at_once);
        check_same(plain, itself);
        uint32_t n_drafted = 0;
        for (const Answer& answer : itself) {
            n_drafted += answer.n_drafted;
            CHECK(answer.n_accepted == answer.n_drafted);  // bit for bit the same logits
        }
        CHECK(n_drafted > 0);
    }
}

TEST_CASE("a small model of the family drafts for the large one") {
    const auto model = load_real_model(kRealModels[3]), draft = load_real_model(kRealModels[2]);
    if (!model || !draft) return;
    EngineOptions options;
    options.context_tokens = 256;
    options.draft_model = draft;
    const auto engine = make_engine(model, options, 2);
    const auto all = questions(*model, 30);
    const std::vector<Answer> plain = ask(*engine, all, DraftSource::none, false);
    const std::vector<Answer> drafted = ask(*engine, all, DraftSource::automatic, false);
    check_same(plain, drafted);
    uint32_t n_accepted = 0;
    for (const Answer& answer : drafted) n_accepted += answer.n_accepted;
    CHECK(n_accepted > 20);
}

}  // namespace takt
