// Several requests at once: each as if it were alone, in an order of service that everyone can rely on.
#include <cmath>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

RequestOptions request_number(int i) {
    RequestOptions options =
        prompt_of(static_cast<size_t>(1 + i * 11 % 60), static_cast<uint32_t>(3 + i * 5 % 40), i);
    options.ignore_eos = true;
    if (i % 3 == 1) {
        options.sampler.temperature = 1;
        options.sampler.seed = static_cast<uint64_t>(i);
        options.sampler.top_p = 0.9f;
        options.sampler.repetition_penalty = 1.2f;
    }
    return options;
}

std::vector<std::vector<int32_t>> run_all(EngineOptions options, std::shared_ptr<const Model> model, int n,
                                          bool at_once) {
    Fixture fixture(options, std::move(model));
    Engine& engine = fixture.start();
    std::vector<Heard> heard(static_cast<size_t>(n));
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < n; ++i) {
        auto request = submit(engine, request_number(i), heard[static_cast<size_t>(i)]);
        REQUIRE(request.ok());
        requests.push_back(std::move(*request));
        if (!at_once) REQUIRE(requests.back()->wait(UINT64_MAX).ok());
    }
    std::vector<std::vector<int32_t>> tokens;
    for (int i = 0; i < n; ++i) {
        REQUIRE(requests[static_cast<size_t>(i)]->wait(UINT64_MAX).ok());
        const Heard& one = heard[static_cast<size_t>(i)];
        INFO("request " << i << ": " << one.message);
        CHECK(one.reason == FinishReason::length);
        tokens.push_back(one.ids);
    }
    return tokens;
}

// The rows of each step, as "sequence:first position+rows".
std::string shape_of(const StepBatch& batch) {
    std::string shape;
    for (const BatchSequence& s : batch.sequences) {
        shape += (shape.empty() ? "" : " ") + std::to_string(s.sequence) + ":" +
                 std::to_string(s.first_position) + "+" + std::to_string(s.n_rows);
    }
    return shape;
}

// Keeps the shapes; the first step, of a request that only serves to hold the worker, waits until all others
// are queued.
struct Shapes {
    Fixture fixture;
    Gate gate;
    std::vector<std::string> steps;
    std::vector<std::unique_ptr<Request>> requests;

    explicit Shapes(const EngineOptions& options) : fixture(options) {
        fixture.script.before_run = [this](const StepBatch& batch) {
            gate.pass();
            steps.push_back(shape_of(batch));
            return Status();
        };
        add(1, 1);
        gate.wait_for_arrivals(1);
    }
    void add(size_t n_prompt, uint32_t max_tokens) {
        auto request = fixture.start().submit(prompt_of(n_prompt, max_tokens));
        REQUIRE(request.ok());
        requests.push_back(std::move(*request));
    }
    std::vector<std::string> finish() {
        gate.open();
        for (const auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
        return {steps.begin() + 1, steps.end()};
    }
};

using Steps = std::vector<std::string>;

}  // namespace

TEST_CASE("ten requests submitted at once get the tokens each gets alone") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();  // gemma: a window group as well
    EngineOptions options;
    const auto alone = run_all(options, model, 10, false);
    SECTION("all in one batch") {
        CHECK(run_all(options, model, 10, true) == alone);
    }
    SECTION("in small chunks") {
        options.chunk_tokens = 7;
        CHECK(run_all(options, model, 10, true) == alone);
        options.chunk_tokens = 1;
        CHECK(run_all(options, model, 10, true) == alone);
    }
    SECTION("with fewer places than requests") {
        options.max_sequences = 3;
        CHECK(run_all(options, model, 10, true) == alone);
    }
    SECTION("with pages for few") {
        options.context_tokens = 128;
        options.kv_tokens = 128;
        CHECK(run_all(options, model, 10, true) == alone);
    }
}

TEST_CASE(
    "a step holds the rows of all that decode, then prompts in the order of their coming, up to the chunk") {
    EngineOptions options;
    options.chunk_tokens = 10;
    Shapes shapes(options);
    shapes.add(3, 3);   // sequence 2
    shapes.add(18, 2);  // sequence 3
    shapes.add(4, 1);   // sequence 4
    CHECK(shapes.finish() == Steps{"2:0+3 3:0+7", "2:3+1 3:7+9", "2:4+1 3:16+2 4:0+4", "3:18+1"});
}

TEST_CASE("a prompt moves on by a row a step however many decode") {
    EngineOptions options;
    options.chunk_tokens = 1;
    options.max_sequences = 3;
    Shapes shapes(options);
    shapes.add(1, 4);
    shapes.add(1, 3);
    shapes.add(2, 1);
    CHECK(shapes.finish() == Steps{"2:0+1", "2:1+1 3:0+1", "2:2+1 3:1+1 4:0+1", "2:3+1 3:2+1 4:1+1"});
}

TEST_CASE("who came first is served first, and who doesn't fit holds back those behind") {
    EngineOptions options;
    options.context_tokens = 64;
    options.kv_tokens = 64;
    options.max_sequences = 2;  // pages: 64 / 32, and one that may stay part empty
    options.prefix_reuse = false;
    Shapes shapes(options);
    shapes.add(33, 2);  // two pages of three
    shapes.add(33, 2);  // must wait for them
    shapes.add(1, 2);   // would fit
    CHECK(shapes.finish() == Steps{"2:0+33", "2:33+1", "3:0+33 4:0+1", "3:33+1 4:1+1"});
}

TEST_CASE(
    "more requests than may run and wait are refused, and the queue takes new ones when some have ended") {
    EngineOptions options;
    options.max_sequences = 2;
    options.max_waiting = 3;
    Fixture fixture(options);
    Gate gate;
    fixture.hold_steps(gate);
    Engine& engine = fixture.start();
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 5; ++i) {
        auto request = engine.submit(prompt_of(4, 2));
        REQUIRE(request.ok());
        requests.push_back(std::move(*request));
    }
    const auto refused = engine.submit(prompt_of(4, 2));
    CHECK(refused.status().code() == StatusCode::queue_full);
    CHECK(refused.status().message().find("max_waiting") != std::string::npos);
    gate.open();
    for (const auto& request : requests) CHECK(request->wait(UINT64_MAX).ok());
    CHECK(engine.submit(prompt_of(4, 2)).ok());
}

TEST_CASE("a failing and a cancelled request leave the others as they are") {
    const auto alone = run_all({}, tiny_llama(), 16, false);
    Fixture fixture;
    fixture.script.poison = [](uint64_t sequence, uint32_t) { return sequence == 6 ? INFINITY : NAN; };
    Engine& engine = fixture.start();
    std::vector<Heard> heard(16);
    std::vector<std::unique_ptr<Request>> requests(16);
    for (int i = 0; i < 16; ++i) {
        RequestOptions options = request_number(i);
        Heard& own = heard[static_cast<size_t>(i)];
        options.on_event = [&own, i](const Event& event) {
            own.hear(event);
            return !(i == 9 && own.ids.size() == 2);
        };
        auto request = engine.submit(std::move(options));
        REQUIRE(request.ok());
        requests[static_cast<size_t>(i)] = std::move(*request);
    }
    for (const auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
    for (size_t i = 0; i < 16; ++i) {
        INFO("request " << i);
        if (i == 5) {
            CHECK(heard[i].reason == FinishReason::error);
        } else if (i == 9) {
            CHECK(heard[i].reason == FinishReason::cancelled);
            CHECK(heard[i].ids.size() == 2);
        } else {
            CHECK(heard[i].ids == alone[i]);
        }
    }
}

TEST_CASE("two engines of one runtime take turns") {
    Fixture fixture;
    Engine& first = fixture.start();
    auto second = Engine::create(fixture.runtime, tiny_llama(), {});
    REQUIRE(second.ok());
    const auto alone = run(first, prompt_of(20, 30)).ids;
    auto a = first.submit(prompt_of(20, 30)), b = (*second)->submit(prompt_of(20, 30));
    for (auto* request : {&a, &b}) {
        REQUIRE((**request)->wait(UINT64_MAX).ok());
        for (const int32_t id : alone) CHECK((**request)->next(0)->token_id == id);
    }
}

}  // namespace takt
