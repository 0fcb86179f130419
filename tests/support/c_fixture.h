// A small model on an engine, through the C interface, for the Catch2 tests of that interface.
#pragma once

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <takt/takt.h>

namespace takt_test {

inline std::string tiny_model(const std::string& name = "llama") {
    return std::string(TAKT_TEST_DATA_DIR) + "/golden/tiny/" + name + ".gguf";
}

// The golden prompt of the tiny llama and what it continues with, greedily.
inline const std::vector<int32_t>& golden_prompt() {
    static const std::vector<int32_t> ids = {326, 244, 196, 103, 118, 15, 28, 6, 67, 312, 249, 350};
    return ids;
}
inline const std::vector<int32_t>& golden_answer() {
    static const std::vector<int32_t> ids = {5, 29, 92, 78, 233, 11, 263, 205};
    return ids;
}

struct Stack {
    takt_runtime* runtime = nullptr;
    takt_model* model = nullptr;
    takt_engine* engine = nullptr;

    explicit Stack(takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT,
                   const takt_runtime_options* how = nullptr) {
        takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
        const std::string path = tiny_model();
        load.path = path.c_str();
        REQUIRE(takt_runtime_create(how, &runtime) == TAKT_OK);
        REQUIRE(takt_model_load(runtime, &load, &model) == TAKT_OK);
        REQUIRE(takt_engine_create(model, &limits, &engine) == TAKT_OK);
    }
    ~Stack() {
        takt_engine_destroy(engine);
        takt_model_destroy(model);
        takt_runtime_destroy(runtime);
    }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
};

inline takt_request_options golden_request(uint32_t max_tokens) {
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    ask.prompt_ids = golden_prompt().data();
    ask.prompt_ids_count = golden_prompt().size();
    ask.max_tokens = max_tokens;
    ask.ignore_eos = 1;
    return ask;
}

inline takt_timing empty_timing() {
    takt_timing timing{};
    timing.struct_size = sizeof timing;
    return timing;
}

inline takt_event empty_event() {
    takt_event event{};
    event.struct_size = sizeof event;
    return event;
}

inline bool last_error_names(std::string_view word) {
    return std::string_view(takt_last_error()).find(word) != std::string_view::npos;
}

}  // namespace takt_test
