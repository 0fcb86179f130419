// Calls from the places where they must not wait: callbacks of a request that ends with its engine, releases,
// progress and log callbacks, a clock that throws, a forked child.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "c_fixture.h"

using namespace takt_test;

namespace {

struct Hooks {
    std::function<void(const takt_event&)> on_event;
    std::function<void()> on_release;
    void attach(takt_request_options& ask) {
        ask.user_data = this;
        ask.on_event = [](void* self, const takt_event* event) -> int32_t {
            auto& hooks = *static_cast<Hooks*>(self);
            if (hooks.on_event) hooks.on_event(*event);
            return TAKT_CONTINUE;
        };
        ask.on_release = [](void* self) {
            auto& hooks = *static_cast<Hooks*>(self);
            if (hooks.on_release) hooks.on_release();
        };
    }
};

takt_status generate(takt_engine* engine) {
    takt_request_options ask = golden_request(2);
    return takt_engine_generate(engine, &ask, nullptr);
}

// Runs body in a forked child; true if it returned 0 in time.
bool holds_in_child(const std::function<bool()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        ::_exit(body() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("A callback that outlives its request's handle is refused by an engine that is being destroyed") {
    Stack stack;
    Hooks hooks;
    std::atomic<takt_request*> request{nullptr};
    std::atomic<bool> inside{false};
    std::vector<takt_status> got;
    uint32_t context_tokens = 0;
    takt_request* later = nullptr;
    takt_session* session = nullptr;
    hooks.on_event = [&](const takt_event& event) {
        if (event.type != TAKT_EVENT_FINISHED) return;
        while (request == nullptr) std::this_thread::yield();
        takt_request_destroy(request);
        inside = true;
        takt_request_options ask = golden_request(2);
        // Until the other thread's destroy has begun, a submit is fine.
        takt_status status = TAKT_OK;
        while ((status = takt_engine_submit(stack.engine, &ask, &later)) == TAKT_OK)
            takt_request_destroy(later);
        got = {status, generate(stack.engine), takt_session_create(stack.engine, nullptr, 0, &session),
               takt_engine_destroy(stack.engine), takt_engine_cancel_all(stack.engine)};
        context_tokens = takt_engine_context_tokens(stack.engine);
    };
    takt_request_options ask = golden_request(2);
    hooks.attach(ask);
    takt_request* handle = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &handle) == TAKT_OK);
    request = handle;
    while (!inside) std::this_thread::yield();
    REQUIRE(takt_engine_destroy(stack.engine) == TAKT_OK);
    stack.engine = nullptr;
    const takt_status refused = TAKT_ERROR_INVALID_STATE;
    CHECK(got == std::vector<takt_status>{refused, refused, refused, refused, TAKT_OK});
    CHECK(later == nullptr);
    CHECK(context_tokens > 0);
}

TEST_CASE("Callbacks that submit the next request don't keep an engine from being destroyed") {
    Stack stack;
    Hooks hooks;
    std::atomic<int> n_submitted{0};
    hooks.on_event = [&](const takt_event& event) {
        if (event.type != TAKT_EVENT_FINISHED) return;
        takt_request_options ask = golden_request(2);
        hooks.attach(ask);
        takt_request* next = nullptr;
        if (takt_engine_submit(stack.engine, &ask, &next) != TAKT_OK) return;
        ++n_submitted;
        takt_request_destroy(next);  // inside a callback: deferred
    };
    takt_request_options ask = golden_request(2);
    hooks.attach(ask);
    takt_request* first = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &first) == TAKT_OK);
    while (n_submitted < 3) std::this_thread::yield();
    REQUIRE(takt_engine_destroy(stack.engine) == TAKT_OK);
    stack.engine = nullptr;  // only now: the callbacks read it
    takt_request_destroy(first);
}

TEST_CASE("Calls that wait are refused in a release on the engine's thread") {
    Stack stack;
    Hooks hooks;
    takt_request* other = nullptr;
    takt_request_options long_one = golden_request(200);
    REQUIRE(takt_engine_submit(stack.engine, &long_one, &other) == TAKT_OK);
    std::atomic<takt_request*> request{nullptr};
    std::atomic<bool> released{false};
    std::vector<takt_status> got;
    hooks.on_event = [&](const takt_event& event) {
        while (request == nullptr) std::this_thread::yield();
        if (event.type == TAKT_EVENT_FINISHED) takt_request_destroy(request);
    };
    hooks.on_release = [&] {
        got = {generate(stack.engine), takt_request_wait(other, UINT64_MAX),
               takt_engine_destroy(stack.engine)};
        takt_request_destroy(other);
        released = true;
    };
    takt_request_options ask = golden_request(2);
    hooks.attach(ask);
    takt_request* handle = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &handle) == TAKT_OK);
    request = handle;
    while (!released) std::this_thread::yield();
    CHECK(got == std::vector<takt_status>(3, TAKT_ERROR_INVALID_STATE));
}

TEST_CASE("Everything that was submitted can be cancelled at once, blocking calls included") {
    Stack stack;
    takt_request* waiting = nullptr;
    takt_request_options ask = golden_request(200);
    REQUIRE(takt_engine_submit(stack.engine, &ask, &waiting) == TAKT_OK);
    std::atomic<takt_status> evaluated{TAKT_OK};
    std::atomic<bool> begun{false};
    std::thread evaluation([&] {
        const std::vector<int32_t> ids(240, 5);
        while (evaluated == TAKT_OK) {  // long enough for the cancel to meet one of them
            begun = true;
            evaluated = takt_engine_evaluate(
                stack.engine, ids.data(), ids.size(), ids.size() - 1, 1,
                [](void*, size_t, const float*, size_t) -> int32_t { return TAKT_CONTINUE; }, nullptr);
        }
    });
    while (!begun) std::this_thread::yield();
    std::thread canceller([&] {
        while (evaluated == TAKT_OK) {
            takt_engine_cancel_all(stack.engine);
            std::this_thread::yield();
        }
    });
    evaluation.join();
    canceller.join();
    CHECK(evaluated == TAKT_ERROR_CANCELLED);
    CHECK(takt_request_wait(waiting, UINT64_MAX) == TAKT_OK);
    takt_request_destroy(waiting);
    CHECK(generate(stack.engine) == TAKT_OK);  // later ones run
}

TEST_CASE("Loads and waits are refused inside a progress callback") {
    Stack stack;
    struct Tries {
        Stack& stack;
        takt_request* running;
        std::vector<takt_status> got;
    } tries{stack, nullptr, {}};
    takt_request_options ask = golden_request(200);
    REQUIRE(takt_engine_submit(stack.engine, &ask, &tries.running) == TAKT_OK);
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    const std::string path = tiny_model();
    load.path = path.c_str();
    load.progress_user_data = &tries;
    load.progress = [](void* user_data, uint64_t, uint64_t) -> int32_t {
        auto& self = *static_cast<Tries*>(user_data);
        takt_model_options again = TAKT_MODEL_OPTIONS_INIT;
        const std::string other = tiny_model();
        again.path = other.c_str();
        takt_model* model = nullptr;
        takt_engine* engine = nullptr;
        self.got = {takt_model_load(self.stack.runtime, &again, &model),
                    takt_engine_create(self.stack.model, nullptr, &engine), generate(self.stack.engine),
                    takt_request_wait(self.running, UINT64_MAX), takt_engine_destroy(self.stack.engine)};
        return TAKT_STOP;
    };
    takt_model* model = nullptr;
    CHECK(takt_model_load(stack.runtime, &load, &model) == TAKT_ERROR_CANCELLED);
    CHECK(tries.got == std::vector<takt_status>(5, TAKT_ERROR_INVALID_STATE));
    takt_request_destroy(tries.running);
}

TEST_CASE("A clock that throws stands still and ends nothing") {
    takt_runtime_options how = TAKT_RUNTIME_OPTIONS_INIT;
    std::atomic<uint64_t> n_calls{0};
    how.clock_user_data = &n_calls;
    how.clock = [](void* user_data) -> uint64_t {
        const uint64_t now = ++*static_cast<std::atomic<uint64_t>*>(user_data);
        if (now % 3 == 0) throw std::runtime_error("no time");
        return now;
    };
    Stack stack(TAKT_ENGINE_OPTIONS_INIT, &how);
    takt_request_options ask = golden_request(8);
    takt_timing timing = empty_timing();
    REQUIRE(takt_engine_generate(stack.engine, &ask, &timing) == TAKT_OK);
    CHECK(timing.queue_ns + timing.prefill_ns + timing.decode_ns + timing.finish_ns == timing.e2e_ns);
}

TEST_CASE("A C++ callback's exception is the request's status") {
    Stack stack;
    takt_request_options ask = golden_request(8);
    ask.on_event = [](void*, const takt_event* event) -> int32_t {
        if (event->type == TAKT_EVENT_TOKEN) throw std::runtime_error("out of ink");
        return TAKT_CONTINUE;
    };
    CHECK(takt_engine_generate(stack.engine, &ask, nullptr) == TAKT_ERROR_INTERNAL);
    CHECK(last_error_names("out of ink"));
}

TEST_CASE("A forked child is told that the engine isn't there, and may destroy everything") {
    Stack stack;
    takt_request* request = nullptr;
    takt_request_options ask = golden_request(2);
    REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
    CHECK(holds_in_child([&] {
        size_t count = 0;
        takt_model* model = nullptr;
        takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
        const std::string path = tiny_model();
        load.path = path.c_str();
        bool good = generate(stack.engine) == TAKT_ERROR_INVALID_STATE &&
                    takt_model_load(stack.runtime, &load, &model) == TAKT_ERROR_INVALID_STATE &&
                    takt_request_wait(request, UINT64_MAX) == TAKT_ERROR_INVALID_STATE &&
                    takt_model_tokenize(stack.model, "a", 1, 0, nullptr, 0, &count) == TAKT_OK;
        takt_request_destroy(request);
        good = good && takt_engine_destroy(stack.engine) == TAKT_OK;
        takt_model_destroy(stack.model);
        takt_runtime_destroy(stack.runtime);
        return good;
    }));
    takt_request_destroy(request);
    CHECK(generate(stack.engine) == TAKT_OK);
}

TEST_CASE("A child that forks before it uses takt works") {
    CHECK(holds_in_child([] {
        Stack stack;
        return generate(stack.engine) == TAKT_OK;
    }));
}

TEST_CASE("Sentences stay readable whatever they quote") {
    takt_runtime_options how = TAKT_RUNTIME_OPTIONS_INIT;
    const std::string level = "avx\n\xff" + std::string(100000, 'x');
    how.isa_cap = level.c_str();
    takt_runtime* runtime = nullptr;
    CHECK(takt_runtime_create(&how, &runtime) == TAKT_ERROR_NOT_FOUND);
    const std::string sentence = takt_last_error();
    CHECK(sentence.size() < 1100);
    CHECK(sentence.find('\n') == std::string::npos);
    CHECK(sentence.find("avx \xEF\xBF\xBDx") != std::string::npos);
}
