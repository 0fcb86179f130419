// What a callback sees, on which thread, and what it may do.
#include <catch2/catch.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "c_fixture.h"

using namespace takt_test;

namespace {

// user_data of one request: what came, and a hook for each token.
struct Listener {
    std::function<int32_t(const takt_event&)> on_token;
    std::vector<int32_t> ids;
    std::string text;
    std::atomic<int> finished = 0, released = 0;
    int32_t reason = TAKT_FINISH_NONE;
    std::thread::id thread;

    static int32_t event(void* user_data, const takt_event* event) {
        auto& self = *static_cast<Listener*>(user_data);
        self.thread = std::this_thread::get_id();
        self.text.append(event->text, event->text_bytes);
        if (event->type == TAKT_EVENT_FINISHED) {
            self.reason = event->finish_reason;
            ++self.finished;
            return TAKT_CONTINUE;
        }
        self.ids.push_back(event->token_id);
        return self.on_token ? self.on_token(*event) : TAKT_CONTINUE;
    }
    static void release(void* user_data) { ++static_cast<Listener*>(user_data)->released; }

    void attach(takt_request_options& ask) {
        ask.on_event = event;
        ask.on_release = release;
        ask.user_data = this;
    }
};

}  // namespace

TEST_CASE("A blocking call pushes its events on the caller's thread") {
    Stack stack;
    Listener listener;
    takt_request_options ask = golden_request(8);
    listener.attach(ask);
    REQUIRE(takt_engine_generate(stack.engine, &ask, nullptr) == TAKT_OK);
    CHECK(listener.thread == std::this_thread::get_id());
    CHECK(listener.ids == golden_answer());
    CHECK(listener.finished == 1);
    CHECK(listener.released == 1);
    CHECK(listener.reason == TAKT_FINISH_LENGTH);
}

TEST_CASE("An asynchronous request pushes its events on another thread and releases once") {
    Stack stack;
    Listener listener;
    takt_request_options ask = golden_request(8);
    listener.attach(ask);
    takt_request* request = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
    CHECK(listener.thread != std::this_thread::get_id());
    CHECK(listener.ids == golden_answer());
    takt_event event = empty_event();
    CHECK(takt_request_next(request, 0, &event) == TAKT_ERROR_INVALID_STATE);
    CHECK(listener.released == 0);
    takt_request_destroy(request);
    CHECK(listener.released == 1);
}

TEST_CASE("Pulled events carry the same tokens as pushed ones, and text is whole") {
    Stack stack;
    takt_request_options ask = golden_request(8);
    takt_request* request = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    std::vector<int32_t> ids;
    std::string text;
    takt_event event = empty_event();
    do {
        REQUIRE(takt_request_next(request, UINT64_MAX, &event) == TAKT_OK);
        text.append(event.text, event.text_bytes);
        if (event.type == TAKT_EVENT_TOKEN) ids.push_back(event.token_id);
    } while (event.type == TAKT_EVENT_TOKEN);
    CHECK(ids == golden_answer());
    Listener listener;
    listener.attach(ask);
    REQUIRE(takt_engine_generate(stack.engine, &ask, nullptr) == TAKT_OK);
    CHECK(text == listener.text);
    takt_request_destroy(request);
}

TEST_CASE("A pushed event's callback that stops cancels its request at once") {
    Stack stack;
    Listener listener;
    listener.on_token = [](const takt_event& event) {
        return event.token_index == 2 ? TAKT_STOP : TAKT_CONTINUE;
    };
    takt_request_options ask = golden_request(8);
    listener.attach(ask);
    takt_request* request = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
    CHECK(listener.reason == TAKT_FINISH_CANCELLED);
    CHECK(listener.ids.size() == 3);
    takt_request_destroy(request);
}

TEST_CASE("A blocking call's callback that stops hears of no further token") {
    Stack stack;
    Listener listener;
    listener.on_token = [](const takt_event& event) {
        return event.token_index == 2 ? TAKT_STOP : TAKT_CONTINUE;
    };
    takt_request_options ask = golden_request(200);
    listener.attach(ask);
    takt_timing timing = empty_timing();
    REQUIRE(takt_engine_generate(stack.engine, &ask, &timing) == TAKT_OK);
    // The engine doesn't wait for the caller's thread: it may be done before the answer of the callback
    // comes.
    CHECK((listener.reason == TAKT_FINISH_CANCELLED || timing.generated_tokens == 200));
    CHECK(timing.finish_reason == listener.reason);
    CHECK(listener.ids.size() == 3);
    CHECK(listener.finished == 1);
    CHECK(listener.released == 1);
    CHECK(timing.queue_ns + timing.prefill_ns + timing.decode_ns + timing.finish_ns == timing.e2e_ns);
}

TEST_CASE("An exception in a callback ends its request, not the process") {
    Stack stack;
    Listener listener;
    listener.on_token = [](const takt_event&) -> int32_t { throw std::runtime_error("from the callback"); };
    takt_request_options ask = golden_request(8);
    listener.attach(ask);
    takt_request* request = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
    CHECK(listener.reason == TAKT_FINISH_ERROR);
    CHECK(takt_request_status(request, nullptr) == TAKT_ERROR_INTERNAL);
    takt_request_destroy(request);
    REQUIRE(takt_engine_generate(stack.engine, &ask, nullptr) == TAKT_ERROR_INTERNAL);
    CHECK(last_error_names("from the callback"));
    CHECK(listener.finished == 2);
    CHECK(listener.released == 2);
}

TEST_CASE("Another thread cancels a running request") {
    Stack stack;
    std::atomic<bool> running = false;
    Listener listener;
    listener.on_token = [&](const takt_event&) {
        running = true;
        return TAKT_CONTINUE;
    };
    takt_request_options ask = golden_request(200);
    listener.attach(ask);
    takt_request* request = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    takt_status cancelled = TAKT_ERROR_INTERNAL;
    std::thread other([&] {
        while (!running) std::this_thread::yield();
        cancelled = takt_request_cancel(request);
    });
    other.join();
    CHECK(cancelled == TAKT_OK);
    REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
    CHECK((listener.reason == TAKT_FINISH_CANCELLED || listener.ids.size() == 200));
    CHECK(takt_request_cancel(request) == TAKT_OK);
    takt_request_destroy(request);
    CHECK(listener.finished == 1);
}

TEST_CASE("Inside a callback the clock, cancel, timing and submit work, and what waits is refused") {
    Stack stack;
    Listener child;
    takt_request_options child_ask = golden_request(3);
    child.attach(child_ask);
    takt_request *request = nullptr, *child_request = nullptr;
    Listener listener;
    const bool blocking = GENERATE(true, false);
    listener.on_token = [&](const takt_event& event) {
        if (event.token_index != 0) return TAKT_CONTINUE;
        takt_timing timing = empty_timing();
        takt_event pulled = empty_event();
        CHECK(takt_runtime_now_ns(stack.runtime) >= event.ready_ns);
        if (!blocking) {
            CHECK(takt_request_timing(request, &timing) ==
                  TAKT_OK);  // the handle is there before submit returns
            CHECK(timing.generated_tokens == 1);
            CHECK(takt_request_wait(request, UINT64_MAX) == TAKT_ERROR_INVALID_STATE);
            CHECK(takt_request_next(request, UINT64_MAX, &pulled) == TAKT_ERROR_INVALID_STATE);
        }
        CHECK(takt_engine_generate(stack.engine, &child_ask, nullptr) == TAKT_ERROR_INVALID_STATE);
        CHECK(last_error_names("callback"));
        CHECK(takt_engine_evaluate(
                  stack.engine, golden_prompt().data(), 3, 0, 0,
                  [](void*, size_t, const float*, size_t) -> int32_t { return 0; },
                  nullptr) == TAKT_ERROR_INVALID_STATE);
        CHECK(takt_engine_destroy(stack.engine) == TAKT_ERROR_INVALID_STATE);
        CHECK(takt_engine_submit(stack.engine, &child_ask, &child_request) == TAKT_OK);
        return TAKT_CONTINUE;
    };
    takt_request_options ask = golden_request(8);
    listener.attach(ask);
    if (blocking) {
        REQUIRE(takt_engine_generate(stack.engine, &ask, nullptr) == TAKT_OK);
    } else {
        REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
        REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
    }
    CHECK(listener.ids == golden_answer());
    REQUIRE(child_request != nullptr);
    REQUIRE(takt_request_wait(child_request, UINT64_MAX) == TAKT_OK);
    CHECK(child.ids == std::vector<int32_t>(golden_answer().begin(), golden_answer().begin() + 3));
    CHECK(child.released == 0);  // a generate that is refused releases nothing
    takt_request_destroy(child_request);
    takt_request_destroy(request);
    CHECK(child.released == 1);
}

TEST_CASE("A request destroyed inside its own callback ends after it and is released once") {
    Stack stack;
    takt_request* request = nullptr;
    std::atomic<bool> destroyed = false;
    std::atomic<int> released_inside = -1;
    Listener listener;
    listener.on_token = [&](const takt_event& event) {
        if (event.token_index == 1) {
            takt_request_destroy(request);
            released_inside = listener.released.load();
            destroyed = true;
        }
        return TAKT_CONTINUE;
    };
    takt_request_options ask = golden_request(8);
    listener.attach(ask);
    REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    while (!destroyed) std::this_thread::yield();
    REQUIRE(takt_engine_destroy(stack.engine) == TAKT_OK);  // waits for the last callback
    stack.engine = nullptr;
    CHECK(released_inside == 0);
    CHECK(listener.finished == 1);
    CHECK(listener.released == 1);
}

TEST_CASE("A running request that is destroyed gives no callback after that") {
    Stack stack;
    for (int i = 0; i < 20; ++i) {
        Listener listener;
        takt_request_options ask = golden_request(200);
        listener.attach(ask);
        takt_request* request = nullptr;
        REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
        takt_request_destroy(request);
        CHECK(listener.finished == 1);
        CHECK(listener.released == 1);
    }
}

TEST_CASE("A deadline in the past and no tokens asked for end a request at once") {
    Stack stack;
    takt_request_options ask = golden_request(0);
    takt_timing timing = empty_timing();
    REQUIRE(takt_engine_generate(stack.engine, &ask, &timing) == TAKT_OK);
    CHECK(timing.finish_reason == TAKT_FINISH_LENGTH);
    CHECK(timing.ttft_ns == TAKT_UNDEFINED_NS);
    CHECK(timing.first_token_ns == TAKT_UNDEFINED_NS);
    CHECK(timing.tpot_ns != timing.tpot_ns);
    CHECK(timing.queue_ns + timing.prefill_ns + timing.decode_ns + timing.finish_ns == timing.e2e_ns);
    ask = golden_request(8);
    ask.deadline_ns = 1;
    REQUIRE(takt_engine_generate(stack.engine, &ask, &timing) == TAKT_OK);
    CHECK(timing.finish_reason == TAKT_FINISH_DEADLINE);
    CHECK(timing.generated_tokens == 0);
}

TEST_CASE("What a transfer's callback throws ends the transfer with a sentence that says whose it was") {
    Stack stack;
    takt_request_options ask = golden_request(0);
    ask.keep_state = 1;
    takt_request* kept = nullptr;
    REQUIRE(takt_engine_submit(stack.engine, &ask, &kept) == TAKT_OK);
    REQUIRE(takt_request_wait(kept, UINT64_MAX) == TAKT_OK);
    const takt_write_callback write = [](void*, const void*, size_t) -> int32_t {
        throw std::runtime_error("boo");
    };
    CHECK(takt_request_export(kept, write, nullptr, nullptr) == TAKT_ERROR_INTERNAL);
    CHECK(std::string(takt_last_error()) == "The write callback threw: boo.");
    const takt_read_callback read = [](void*, void*, size_t) -> int32_t { throw 5; };
    takt_request* import = nullptr;
    CHECK(takt_engine_import(stack.engine, read, nullptr, &ask, nullptr, &import) == TAKT_ERROR_INTERNAL);
    CHECK(std::string(takt_last_error()).find("The read callback threw: something") == 0);
    CHECK(import == nullptr);
    takt_request_destroy(kept);
}
