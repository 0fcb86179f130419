// One allocation after the other fails, in every call: a status comes back, nothing hangs, ends the process
// or is told twice. A program of its own, since it replaces operator new.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

#include "allocation_hook.h"
#include "c_fixture.h"

namespace {

// Allocations of the thread that asks, until one fails.
thread_local bool counting = false;
thread_local long until_failure = 0;
thread_local bool has_failed = false;

}  // namespace

bool allocation_hook::may_allocate() noexcept {
    if (!counting || until_failure-- != 0) return true;
    has_failed = true;
    return false;
}

using namespace takt_test;

namespace {

constexpr std::string_view kChat =
    R"({"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"clock","parameters":{}}]})";

// Fails the first allocation of the call, then the second, … until it needs no more.
void fail_each(const std::function<takt_status()>& call) {
    for (long k = 0;; ++k) {
        until_failure = k;
        has_failed = false;
        counting = true;
        const takt_status status = call();
        counting = false;
        if (!has_failed) {
            INFO(takt_last_error());
            CHECK(k > 0);
            CHECK(status == TAKT_OK);
            return;
        }
        CAPTURE(k, takt_last_error());
        // A reserve that fails may be done without.
        REQUIRE((status == TAKT_ERROR_OUT_OF_MEMORY || status == TAKT_OK));
    }
}

// What a request's callbacks were told, without allocating.
struct Told {
    int finished = 0, released = 0;
    static int32_t event(void* user_data, const takt_event* event) {
        if (event->type == TAKT_EVENT_FINISHED) ++static_cast<Told*>(user_data)->finished;
        return TAKT_CONTINUE;
    }
    static void release(void* user_data) { ++static_cast<Told*>(user_data)->released; }
};

}  // namespace

TEST_CASE("Memory that runs out while a model is loaded is a status") {
    Stack stack;
    const std::string path = tiny_model();
    fail_each([&] {
        takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
        load.path = path.c_str();
        takt_model* model = nullptr;
        const takt_status status = takt_model_load(stack.runtime, &load, &model);
        takt_model_destroy(model);
        return status;
    });
    fail_each([&] {
        takt_engine* engine = nullptr;
        const takt_status status = takt_engine_create(stack.model, nullptr, &engine);
        takt_engine_destroy(engine);
        return status;
    });
}

TEST_CASE("Memory that runs out while a model is described is a status") {
    Stack stack;
    size_t size = 0;
    fail_each([&] { return takt_model_inspect(stack.model, nullptr, 0, &size); });
    fail_each([&] { return takt_model_program(stack.model, nullptr, 0, &size); });
    fail_each([&] { return takt_model_tokenize(stack.model, "a b c", 5, 0, nullptr, 0, &size); });
    fail_each([&] {
        return takt_model_render_chat(stack.model, kChat.data(), kChat.size(), 1, nullptr, 0, &size);
    });
}

TEST_CASE("Memory that runs out in a submit leaves nothing told and nothing running") {
    Stack stack;
    const takt_request_options golden = golden_request(3);
    fail_each([&] {
        Told told;
        takt_request_options ask = golden;
        ask.on_event = Told::event;
        ask.on_release = Told::release;
        ask.user_data = &told;
        takt_request* request = nullptr;
        const takt_status status = takt_engine_submit(stack.engine, &ask, &request);
        counting = false;
        if (status != TAKT_OK) {
            CHECK(request == nullptr);
            // Whatever had been queued would be told within this one.
            takt_request_options other = golden_request(8);
            CHECK(takt_engine_generate(stack.engine, &other, nullptr) == TAKT_OK);
            CHECK(told.finished == 0);
            CHECK(told.released == 0);
        } else {
            takt_request_destroy(request);
            CHECK(told.finished == 1);
            CHECK(told.released == 1);
        }
        return status;
    });
}

TEST_CASE("Memory that runs out in a blocking call is a status") {
    Stack stack;
    const takt_request_options ask = golden_request(3);
    fail_each([&] { return takt_engine_generate(stack.engine, &ask, nullptr); });
    fail_each([&] {
        return takt_engine_evaluate(
            stack.engine, golden_prompt().data(), golden_prompt().size(), 3, 0,
            [](void*, size_t, const float*, size_t) -> int32_t { return TAKT_CONTINUE; }, nullptr);
    });
    fail_each([&] {
        takt_session* session = nullptr;
        takt_status status = takt_session_create(stack.engine, "be brief", 8, &session);
        if (status != TAKT_OK) return status;
        takt_request_options turn = TAKT_REQUEST_OPTIONS_INIT;
        turn.max_tokens = 2;
        status = takt_session_send(session, "hi", 2, &turn, nullptr);
        takt_session_destroy(session);
        return status;
    });
}

TEST_CASE("Memory that runs out in a fork, an export or an import is a status") {
    Stack stack;
    takt_request_options ask = golden_request(0);
    ask.keep_state = 1;
    takt_request* pin = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &pin) == TAKT_OK);
    REQUIRE(takt_request_wait(pin, UINT64_MAX) == TAKT_OK);
    static std::vector<unsigned char> bytes;
    const takt_write_callback keep = [](void*, const void* some, size_t n_bytes) -> int32_t {
        counting = false;  // what the callback takes is its own
        const auto* from = static_cast<const unsigned char*>(some);
        bytes.insert(bytes.end(), from, from + n_bytes);
        counting = true;
        return TAKT_CONTINUE;
    };
    const takt_read_callback give = [](void* user_data, void* out_bytes, size_t n_bytes) -> int32_t {
        auto& at = *static_cast<size_t*>(user_data);
        if (n_bytes > bytes.size() - at) return TAKT_STOP;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), n_bytes,
                    static_cast<unsigned char*>(out_bytes));
        at += n_bytes;
        return TAKT_CONTINUE;
    };
    const takt_request_options next = golden_request(2);
    fail_each([&] {
        takt_request* fork = nullptr;
        const takt_status status = takt_request_fork(pin, &next, 0, &fork);
        CHECK((fork == nullptr) == (status != TAKT_OK));
        takt_request_destroy(fork);
        return status;
    });
    fail_each([&] {
        bytes.clear();
        return takt_request_export(pin, keep, nullptr, nullptr);
    });
    fail_each([&] {
        size_t at = 0;
        takt_request* request = nullptr;
        const takt_status status = takt_engine_import(stack.engine, give, &at, &next, nullptr, &request);
        CHECK((request == nullptr) == (status != TAKT_OK));
        takt_request_destroy(request);
        return status;
    });
    takt_request_destroy(pin);
}

TEST_CASE("Memory that runs out in a snapshot, and in what is made from one, is a status") {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.trace_steps = 8;
    Stack stack(limits);
    const takt_request_options ask = golden_request(3);
    takt_snapshot *before = nullptr, *after = nullptr;
    REQUIRE(takt_engine_snapshot(stack.engine, &before) == TAKT_OK);
    REQUIRE(takt_engine_generate(stack.engine, &ask, nullptr) == TAKT_OK);
    // What a call leaves behind when it fails is nothing.
    const auto fail_each_snapshot = [](const std::function<takt_status(takt_snapshot**)>& call) {
        fail_each([&] {
            takt_snapshot* snapshot = nullptr;
            const takt_status status = call(&snapshot);
            CHECK((snapshot == nullptr) == (status != TAKT_OK));
            takt_snapshot_destroy(snapshot);
            return status;
        });
    };
    fail_each_snapshot([&](takt_snapshot** out) { return takt_engine_snapshot(stack.engine, out); });
    REQUIRE(takt_engine_snapshot(stack.engine, &after) == TAKT_OK);
    fail_each_snapshot([&](takt_snapshot** out) { return takt_snapshot_difference(after, before, out); });
    fail_each_snapshot([&](takt_snapshot** out) { return takt_snapshot_merge(after, before, out); });
    size_t size = 0;
    REQUIRE(takt_snapshot_export(after, nullptr, 0, &size) == TAKT_OK);
    std::vector<char> bytes(size);
    REQUIRE(takt_snapshot_export(after, bytes.data(), size, &size) == TAKT_OK);
    fail_each_snapshot([&](takt_snapshot** out) { return takt_snapshot_import(bytes.data(), size, out); });
    fail_each([&] { return takt_snapshot_export(after, nullptr, 0, &size); });
    fail_each([&] { return takt_snapshot_json(after, nullptr, 0, &size); });
    fail_each([&] { return takt_snapshot_prometheus(after, nullptr, 0, &size); });
    fail_each([&] {
        takt_histogram histogram{};
        histogram.struct_size = sizeof histogram;
        return takt_snapshot_histogram(after, 0, &histogram);
    });
    fail_each([&] {
        double value = 0;
        return takt_snapshot_percentile(after, 0, 0.5, TAKT_PERCENTILE_LINEAR, &value, nullptr);
    });
    fail_each([&] { return takt_engine_trace(stack.engine, [](void*, const char*, size_t) {}, nullptr); });
    takt_snapshot_destroy(before);
    takt_snapshot_destroy(after);
    CHECK(takt_engine_generate(stack.engine, &ask, nullptr) == TAKT_OK);
}
