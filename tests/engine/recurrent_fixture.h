// An engine over a model with recurrent state: the tiny llama's file, read with another recipe.
#pragma once

#include "create/create.h"
#include "recurrent_program.h"
#include "transfer_fixture.h"

namespace takt::test {

inline const std::shared_ptr<const Model>& recurrent_model() {
    static const std::shared_ptr<const Model> model = [] {
        auto source = open_file(tiny_path("llama"));
        REQUIRE(source.ok());
        auto loaded = Model::load(*source, Logger(), [](const ModelConfig&, const GgufFile&) {
            return build_recurrent_program(true);
        });
        INFO(loaded.status().message());
        REQUIRE(loaded.ok());
        return *loaded;
    }();
    return model;
}

// With the fake backend, which holds every slot against the text, or with the reference backend, where a
// wrong state gives other tokens.
class RecurrentEngine {
public:
    explicit RecurrentEngine(bool computes, EngineOptions options = {},
                             std::function<int32_t(std::span<const int32_t>)> next = nullptr)
        : fake_(options, recurrent_model()) {
        fake_.script.next = std::move(next);
        if (!computes) {
            engine_ = &fake_.start();
            return;
        }
        RuntimeOptions runtime_options;
        runtime_options.n_threads = 1;
        std::vector<BackendEntry> backends;
        backends.push_back({"reference", create_reference_backend({nullptr, nullptr, ""}).value(), ""});
        runtime_ = Runtime::create(runtime_options, std::move(backends)).value();
        auto created = Engine::create(runtime_, recurrent_model(), options);
        INFO(created.status().message());
        REQUIRE(created.ok());
        own_ = *created;
        engine_ = own_.get();
    }
    Engine& engine() { return *engine_; }
    Engine* operator->() { return engine_; }

private:
    Fixture fake_;
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Engine> own_;
    Engine* engine_ = nullptr;
};

inline EngineOptions small_context(uint32_t max_sequences = 4) {
    EngineOptions options;
    options.context_tokens = 256;
    options.max_sequences = max_sequences;
    return options;
}
inline EngineOptions without_snapshots(uint32_t max_sequences = 4) {
    EngineOptions options = small_context(max_sequences);
    options.prefix_reuse = false;
    return options;
}

// Draws with temperature: a state that is a little wrong shows.
inline RequestOptions drawn(std::vector<int32_t> ids, uint32_t max_tokens, bool keep = false) {
    RequestOptions options = sampled(RequestOptions(), keep);
    options.prompt_ids = std::move(ids);
    options.max_tokens = max_tokens;
    return options;
}

struct Answer {
    std::vector<int32_t> ids;
    uint32_t cached = 0;
    std::unique_ptr<Request> request;
};

inline Answer answer(Engine& engine, RequestOptions options) {
    Heard heard;
    options.on_event = [&](const Event& event) { return heard.hear(event); };
    auto request = engine.generate(std::move(options));
    INFO(request.status().message());
    REQUIRE(request.ok());
    INFO(heard.message);
    REQUIRE(heard.reason == FinishReason::length);
    return {heard.ids, static_cast<uint32_t>((*request)->timing().cached_tokens), std::move(*request)};
}

inline std::vector<int32_t> joined(std::vector<int32_t> ids, const std::vector<int32_t>& more) {
    ids.insert(ids.end(), more.begin(), more.end());
    return ids;
}

}  // namespace takt::test
