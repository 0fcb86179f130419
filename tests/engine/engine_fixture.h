// An engine over a tiny model's tokenizer and program, with a backend that needs no arithmetic.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/runtime.h"
#include "fake_backend.h"
#include "tiny_models.h"

namespace takt::test {

// Loaded once; the tests only read them.
inline const std::shared_ptr<const Model>& tiny_llama() {
    static const std::shared_ptr<const Model> model = load_tiny("llama");
    return model;
}
inline const std::shared_ptr<const Model>& tiny_gemma() {
    static const std::shared_ptr<const Model> model = load_tiny("gemma3");
    return model;
}

constexpr int32_t kEndOfTurn = 382;  // of the tiny llama: <|im_end|>
constexpr int32_t kLetterA = 64;     // "a"; the 26 letters follow one another

// Lets a step wait until the test says go: what a test submits meanwhile is surely in the queue.
class Gate {
public:
    void close() { open_ = false; }
    void open() {
        open_ = true;
        open_.notify_all();
    }
    void pass() {
        ++n_arrived_;
        open_.wait(false);
    }
    int n_arrived() const { return n_arrived_; }
    void wait_for_arrivals(int n) const {
        while (n_arrived_ < n) std::this_thread::yield();
    }

private:
    std::atomic<bool> open_{false};
    std::atomic<int> n_arrived_{0};
};

struct Fixture {
    explicit Fixture(EngineOptions options = {}, std::shared_ptr<const Model> model = tiny_llama())
        : options_(options), model_(std::move(model)) {
        script.first_id = kLetterA;
    }
    ~Fixture() { engine.reset(); }  // before the script it reads

    // After the script is as wanted.
    Engine& start() {
        if (engine) return *engine;
        RuntimeOptions runtime_options;
        runtime_options.n_threads = 1;
        runtime_options.clock = clock;
        std::vector<BackendEntry> backends;
        backends.push_back({"fake", std::make_unique<FakeBackend>(script), ""});
        auto made = Runtime::create(runtime_options, std::move(backends));
        REQUIRE(made.ok());
        runtime = *made;
        auto created = Engine::create(runtime, model_, options_);
        INFO(created.status().message());
        REQUIRE(created.ok());
        engine = *created;
        return *engine;
    }
    // Every step waits at the gate.
    void hold_steps(Gate& gate) {
        script.before_run = [&gate](const StepBatch&) {
            gate.pass();
            return Status();
        };
    }
    // For requests that are to be ended from outside: the worker doesn't run far ahead of who reads.
    static void take_a_while() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
    // Real time, for tests about threads.
    void use_steady_clock() { clock = nullptr; }

    std::shared_ptr<ManualClock> manual = std::make_shared<ManualClock>(1000);
    std::shared_ptr<const Clock> clock = manual;
    FakeScript script;
    std::shared_ptr<Runtime> runtime;
    std::shared_ptr<Engine> engine;

private:
    EngineOptions options_;
    std::shared_ptr<const Model> model_;
};

// What a callback was told. Runs on the worker's thread, where Catch must not be called.
struct Heard {
    std::vector<int32_t> ids;
    std::string text;
    int n_finished = 0;
    FinishReason reason = FinishReason::none;
    StatusCode status = StatusCode::ok;
    std::string message;
    std::vector<Event> events;  // views in them are gone
    bool in_order = true;

    bool hear(const Event& event) {
        events.push_back(event);
        text += event.text;
        if (event.type == EventType::token) {
            in_order = in_order && event.token_index == ids.size() && n_finished == 0;
            ids.push_back(event.token_id);
        } else {
            ++n_finished;
            reason = event.finish_reason;
            status = event.status;
            message = event.message;
        }
        return true;
    }
};

inline RequestOptions prompt_of(size_t n_tokens, uint32_t max_tokens, int32_t salt = 0) {
    RequestOptions options;
    for (size_t i = 0; i < n_tokens; ++i)
        options.prompt_ids.push_back(static_cast<int32_t>(1 + (i * 7 + static_cast<size_t>(salt) * 13) % 90));
    options.max_tokens = max_tokens;
    return options;
}

// Runs to the end on this thread.
inline Heard run(Engine& engine, RequestOptions options) {
    Heard heard;
    options.on_event = [&](const Event& event) { return heard.hear(event); };
    auto request = engine.generate(std::move(options));
    INFO(request.status().message());
    REQUIRE(request.ok());
    CHECK(heard.n_finished == 1);
    CHECK(heard.in_order);
    CHECK((*request)->finish_reason() == heard.reason);
    return heard;
}

inline Result<std::unique_ptr<Request>> submit(Engine& engine, RequestOptions options, Heard& heard) {
    options.on_event = [&heard](const Event& event) { return heard.hear(event); };
    return engine.submit(std::move(options));
}

// Pages that someone holds, per state group.
inline std::vector<uint32_t> pages_in_use(Engine& engine) {
    const auto pages = engine.pages_in_use();
    INFO(pages.status().message());
    REQUIRE(pages.ok());
    return *pages;
}
inline bool no_pages_in_use(Engine& engine) {
    const std::vector<uint32_t> pages = pages_in_use(engine);
    return std::ranges::all_of(pages, [](uint32_t n) { return n == 0; });
}

inline void check_identity(const TimingSummary& s) {
    CHECK(s.queue_ns + s.prefill_ns + s.decode_ns + s.finish_ns == s.e2e_ns);
}

}  // namespace takt::test
