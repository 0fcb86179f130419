// A limit on memory is kept by giving up what the caller left open, in order, and no more than must be.
#include "golden_engine.h"
#include "tiny_models.h"

namespace takt {
namespace {

using namespace takt::test;

struct Planner {
    std::shared_ptr<Runtime> runtime;
    std::shared_ptr<const Model> model;

    explicit Planner(std::shared_ptr<const Model> of) : model(std::move(of)) {
        RuntimeOptions options;
        options.n_threads = 2;
        runtime = *Runtime::create(options);
    }
    Result<EnginePlan> plan(EngineOptions options, uint64_t limit = 0) const {
        options.memory_limit_bytes = limit;
        return Engine::plan(*runtime, *model, options);
    }
    EnginePlan planned(const EngineOptions& options, uint64_t limit = 0) const {
        const auto made = plan(options, limit);
        INFO(made.status().message());
        REQUIRE(made.ok());
        return *made;
    }
    // The least that the options can be brought to.
    uint64_t least(const EngineOptions& options) const {
        uint64_t low = 1, high = planned(options).memory.total_bytes();
        while (high - low > 1) {
            const uint64_t middle = low + (high - low) / 2;
            (plan(options, middle).ok() ? high : low) = middle;
        }
        return high;
    }
};

bool same(const EngineOptions& a, const EngineOptions& b) {
    return a.kv_tokens == b.kv_tokens && a.context_tokens == b.context_tokens &&
           a.chunk_tokens == b.chunk_tokens && a.max_sequences == b.max_sequences;
}

// Each stands where those before it are at their floors, in the order of memory_fit.h.
void check_order(const EngineOptions& o) {
    INFO("kv " << o.kv_tokens << ", context " << o.context_tokens << ", chunk " << o.chunk_tokens
               << ", sequences " << o.max_sequences);
    if (o.context_tokens < 4096) CHECK(o.kv_tokens == o.context_tokens);
    if (o.chunk_tokens < 512) CHECK(o.context_tokens <= 2048);
    if (o.max_sequences < 16) CHECK(o.chunk_tokens <= 128);
    if (o.context_tokens < 2048) CHECK(o.max_sequences <= 4);
    if (o.chunk_tokens < 128) CHECK(o.context_tokens == 256);
    if (o.max_sequences < 4) CHECK(o.chunk_tokens == 16);
    CHECK(o.context_tokens >= 256);
    CHECK(o.chunk_tokens >= 16);
    CHECK(o.max_sequences >= 1);
}

}  // namespace

TEST_CASE("what the caller left open gives way in order until the limit is kept, and no more than must be") {
    for (const std::string name : {kRealModels[0], kRealModels[1]}) {
        const auto model = load_real_model(name);
        if (!model) continue;
        const Planner planner(model);
        const EnginePlan open = planner.planned({});
        const uint64_t most = open.memory.total_bytes(), least = planner.least({});
        CHECK(same(planner.planned({}, most).options, open.options));
        EngineOptions last;
        for (uint64_t i = 0; i <= 40; ++i) {
            const uint64_t limit = least + (most - 1 - least) * i / 40;
            const EnginePlan plan = planner.planned({}, limit);
            INFO(name << " in " << limit << " bytes of " << most);
            CHECK(plan.memory.total_bytes() <= limit);
            CHECK(plan.memory.total_bytes() > limit * 9 / 10);
            check_order(plan.options);
            if (i > 0) {  // more room never costs anything
                CHECK(plan.options.kv_tokens >= last.kv_tokens);
                CHECK(plan.options.context_tokens >= last.context_tokens);
                CHECK(plan.options.chunk_tokens >= last.chunk_tokens);
                CHECK(plan.options.max_sequences >= last.max_sequences);
            }
            last = plan.options;
            // It is the plan of these very options.
            CHECK(planner.planned(plan.options).memory.total_bytes() == plan.memory.total_bytes());
        }
    }
}

TEST_CASE("what the caller set stays as it was set") {
    const auto model = load_real_model(kRealModels[0]);
    if (!model) return;
    const Planner planner(model);
    EngineOptions asked;
    asked.context_tokens = 3000;
    asked.max_sequences = 7;
    uint64_t least = planner.least(asked);
    CHECK(planner.planned(asked, least).options.context_tokens == 3000);
    CHECK(planner.planned(asked, least).options.max_sequences == 7);
    CHECK(planner.planned(asked, least).options.kv_tokens == 3000);
    CHECK(planner.planned(asked, least).options.chunk_tokens == 16);
    asked = {};
    asked.kv_tokens = 5000;
    asked.chunk_tokens = 300;
    least = planner.least(asked);
    CHECK(planner.planned(asked, least).options.kv_tokens == 5000);
    CHECK(planner.planned(asked, least).options.chunk_tokens ==
          300 - 44);  // no chunk is longer than a context
    CHECK(planner.planned(asked, least).options.max_sequences == 1);
    asked.context_tokens = 4000;
    asked.max_sequences = 2;  // nothing is left to lower
    CHECK(planner.least(asked) == planner.planned(asked).memory.total_bytes());
}

TEST_CASE("a limit that can't be kept is refused with need and have") {
    const Planner planner(load_tiny("llama"));
    const MemoryPlan open = planner.planned({}).memory;
    const auto sentence = [&](uint64_t limit) {
        const auto plan = planner.plan({}, limit);
        REQUIRE_FALSE(plan.ok());
        CHECK(plan.status().code() == StatusCode::out_of_memory);
        EngineOptions options;
        options.memory_limit_bytes = limit;
        CHECK(Engine::create(planner.runtime, planner.model, options).status().message() ==
              plan.status().message());
        return plan.status().message();
    };
    const uint64_t weights = open.weight_bytes;
    CHECK(sentence(1) == "The weights need " + std::to_string(weights) + " bytes, memory_limit_bytes is 1.");
    CHECK(sentence(weights - 1).starts_with("The weights need "));
    const uint64_t least = planner.least({});
    const MemoryPlan tight = planner.planned({}, least).memory;
    CHECK(tight.total_bytes() == least);
    CHECK(sentence(least - 1) ==
          "The engine needs " + std::to_string(least) + " bytes at least, " + std::to_string(weights) +
              " for weights, " + std::to_string(tight.state_bytes) + " for pages and " +
              std::to_string(tight.scratch_bytes) + " for scratch; memory_limit_bytes is " +
              std::to_string(least - 1) + ".");
}

TEST_CASE("an engine within a limit holds what was planned for it, and works") {
    const auto model = load_real_model(kRealModels[0]);
    if (!model) return;
    const Planner planner(model);
    for (const uint64_t room : {planner.least({}), planner.planned({}).memory.total_bytes() / 2}) {
        const EnginePlan plan = planner.planned({}, room);
        EngineOptions options;
        options.memory_limit_bytes = room;
        auto engine = Engine::create(planner.runtime, model, options);
        REQUIRE(engine.ok());
        CHECK((*engine)->context_tokens() == plan.options.context_tokens);
        CHECK((*engine)->memory().total_bytes() == plan.memory.total_bytes());
        RequestOptions request;
        for (int32_t i = 0; i < 40; ++i) request.prompt_ids.push_back(100 + i);
        request.max_tokens = 3;
        request.ignore_eos = true;
        const auto ended = (*engine)->generate(request);
        REQUIRE(ended.ok());
        CHECK((*ended)->finish_reason() == FinishReason::length);
    }
}

}  // namespace takt
