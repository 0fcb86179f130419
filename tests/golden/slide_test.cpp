// A real model's context slides: the tokens are those of fresh prompts, computed by evaluations.
#include "golden_engine.h"
#include "slide_check.h"

namespace takt {
namespace {

using namespace takt::test;

}  // namespace

TEST_CASE("tokens after a slide of a real model are those of a prompt of the kept ids, greedy and drawn") {
    const std::string name = GENERATE(from_range(std::begin(kRealModels), std::begin(kRealModels) + 2));
    const auto model = load_real_model(name);
    if (!model) return;
    constexpr uint32_t kContext = 96;
    EngineOptions options;
    options.context_tokens = kContext;
    options.backend = "cpu";
    const auto engine = make_engine(model, options);
    options.page_tokens = 16;  // another layout in the engine it is held against
    const auto fresh = make_engine(model, options);
    for (const float temperature : {0.0f, 0.9f}) {
        RequestOptions request;
        request.prompt_ids =
            *model->tokenizer()->encode("A story about a ship and its captain:", {true, false});
        request.max_tokens = 200;
        request.ignore_eos = true;
        request.context_policy = ContextPolicy::slide;
        request.pinned_tokens = 6;
        request.sampler.temperature = temperature;
        request.sampler.seed = 5;
        std::vector<int32_t> ids;
        RequestOptions asked = request;
        asked.on_event = [&](const Event& event) {
            if (event.type == EventType::token) ids.push_back(event.token_id);
            return true;
        };
        REQUIRE(engine->generate(asked).ok());
        REQUIRE(ids.size() == 200);
        CHECK(check_slides(*fresh, request, ids, kContext, model->program()->vocab_size) >= 2);
    }
}

}  // namespace takt
