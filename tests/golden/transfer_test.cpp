// Prefill here, decode there: a request that moved has the tokens of one that stayed.
#include <cstring>

#include "golden_engine.h"
#include "tiny_models.h"

namespace takt {
namespace {

using namespace takt::test;

using Bytes = std::vector<std::byte>;

RequestOptions asked(std::vector<int32_t> prompt, uint32_t max_tokens, float temperature,
                     std::vector<int32_t>& out) {
    RequestOptions options;
    options.prompt_ids = std::move(prompt);
    options.max_tokens = max_tokens;
    options.ignore_eos = true;
    options.sampler.temperature = temperature;
    options.sampler.top_k = 40;
    options.sampler.seed = 7;
    options.on_event = [&out](const Event& event) {
        if (event.type == EventType::token) out.push_back(event.token_id);
        return true;
    };
    return options;
}

std::vector<int32_t> ended(Result<std::unique_ptr<Request>> request, const std::vector<int32_t>& out) {
    INFO(request.status().message());
    REQUIRE(request.ok());
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    REQUIRE((*request)->status().ok());
    return out;
}

// The engine that decodes has another chunk and context; one runtime, so that weights are there once.
void check_move(const std::shared_ptr<const Model>& model, const std::vector<int32_t>& prompt, DType kv_dtype,
                uint32_t n_before) {
    EngineOptions prefills, decodes;
    prefills.kv_dtype = decodes.kv_dtype = kv_dtype;
    prefills.context_tokens = 224;
    decodes.context_tokens = 192;
    decodes.chunk_tokens = 17;
    RuntimeOptions runtime_options;
    runtime_options.n_threads = 2;
    const auto runtime = Runtime::create(runtime_options);
    REQUIRE(runtime.ok());
    const auto first = Engine::create(*runtime, model, prefills),
               second = Engine::create(*runtime, model, decodes);
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    (*runtime)->set_step_threads(2, 1);
    for (const float temperature : {0.0f, 0.9f}) {
        std::vector<int32_t> whole, begun, went_on;
        ended((*first)->submit(asked(prompt, n_before + 16, temperature, whole)), whole);
        RequestOptions begin = asked(prompt, n_before, temperature, begun);
        begin.keep_state = true;
        auto source = (*first)->submit(begin);
        REQUIRE((*source)->wait(UINT64_MAX).ok());
        Bytes bytes;
        Transfer sent, received;
        const Status status = (*first)->export_state(
            **source,
            [&](std::span<const std::byte> some) {
                bytes.insert(bytes.end(), some.begin(), some.end());
                return true;
            },
            sent);
        INFO(status.message());
        REQUIRE(status.ok());
        size_t at = 0;
        auto moved = (*second)->import_state(
            [&](std::span<std::byte> out) {
                std::memcpy(out.data(), bytes.data() + at, out.size());
                at += out.size();
                return true;
            },
            asked({}, 16, temperature, went_on), received);
        ended(std::move(moved), went_on);
        CHECK(at == bytes.size());
        begun.insert(begun.end(), went_on.begin(), went_on.end());
        CHECK(begun == whole);
        CHECK(received.bytes == bytes.size());
    }
}

}  // namespace

TEST_CASE("a prompt that was computed in one engine is answered in another with the same tokens") {
    const std::string name = GENERATE(from_range(std::begin(kRealModels), std::end(kRealModels)));
    const auto model = load_real_model(name);
    if (!model) return;
    std::string text;
    for (int i = 0; i < 14; ++i) text += "Line " + std::to_string(i * 37) + " of the book. ";
    auto ids = model->tokenizer()->encode(text, {});
    REQUIRE(ids.ok());
    ids->resize(std::min<size_t>(ids->size(), 110));
    const bool small = name == kRealModels[0];
    check_move(model, *ids, DType::f16, 0);
    if (small) check_move(model, *ids, DType::q8_0, 0);
    if (small) check_move(model, *ids, DType::f16, 9);
}

TEST_CASE("tiny models move too, in every type of keys and values") {
    const auto model = load_tiny(GENERATE("llama", "gemma3", "qwen2"));
    std::vector<int32_t> prompt;
    for (int32_t i = 0; i < 70; ++i) prompt.push_back(1 + i * 7 % 90);
    check_move(model, prompt, GENERATE(DType::f16, DType::f32), GENERATE(0u, 5u));
}

}  // namespace takt
