// A real model behind an engine, and the golden cases that belong to it.
#pragma once

#include <catch2/catch.hpp>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "engine/engine.h"
#include "engine/runtime.h"
#include "model/model.h"
#include "test_models.h"

namespace takt::test {

constexpr const char* kRealModels[] = {"smollm2-135m-instruct-q4_1", "gemma-3-270m-q4_k_m",
                                       "qwen2.5-coder-0.5b-instruct-q4_k_m",
                                       "qwen2.5-coder-1.5b-instruct-q4_k_m"};

// Sanitizers slow arithmetic by an order of magnitude: there the small model speaks for all.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

inline nlohmann::json golden_cases(const std::string& name) {
    std::ifstream file(std::string(TAKT_TEST_DATA_DIR) + "/golden/" + name + ".json");
    REQUIRE(file.good());
    return nlohmann::json::parse(file).at("cases");
}

// Empty where the model isn't fetched, or too large for a sanitizer's run; a warning says so.
inline std::shared_ptr<const Model> load_real_model(const std::string& name) {
    if (kSanitized && name != kRealModels[0]) {
        WARN("skipped under a sanitizer: " << name);
        return nullptr;
    }
    const std::string path = model_path(name + ".gguf");
    if (path.empty()) return nullptr;
    auto source = open_file(path);
    REQUIRE(source.ok());
    auto model = Model::load(*source, Logger());
    INFO(model.status().message());
    REQUIRE(model.ok());
    return *model;
}

inline std::shared_ptr<Engine> make_engine(std::shared_ptr<const Model> model, EngineOptions options,
                                           uint32_t n_threads = 0) {
    RuntimeOptions runtime_options;
    runtime_options.n_threads = n_threads;
    auto runtime = Runtime::create(runtime_options);
    REQUIRE(runtime.ok());
    auto engine = Engine::create(*runtime, std::move(model), options);
    INFO(engine.status().message());
    REQUIRE(engine.ok());
    return *engine;
}

// Logits of positions first_position… of `ids`, a vector a row.
inline std::vector<std::vector<float>> logits_of(Engine& engine, const std::vector<int32_t>& ids,
                                                 size_t first_position, uint32_t chunk_tokens = 0) {
    std::vector<std::vector<float>> rows;
    const Status status = engine.evaluate(ids, first_position, chunk_tokens,
                                          [&](size_t position, std::span<const float> logits) {
                                              CHECK(position == first_position + rows.size());
                                              rows.emplace_back(logits.begin(), logits.end());
                                              return true;
                                          });
    INFO(status.message());
    REQUIRE(status.ok());
    return rows;
}

inline int32_t best_token(const std::vector<float>& logits) {
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace takt::test
