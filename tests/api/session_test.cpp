// Conversations: what is kept, what is taken back, who may call when.
#include <catch2/catch.hpp>

#include <atomic>
#include <functional>
#include <thread>

#include "c_fixture.h"

using namespace takt_test;

namespace {

struct SessionHandle {
    takt_session* session = nullptr;
    explicit SessionHandle(takt_engine* engine) {
        REQUIRE(takt_session_create(engine, nullptr, 0, &session) == TAKT_OK);
    }
    ~SessionHandle() { takt_session_destroy(session); }
    SessionHandle(const SessionHandle&) = delete;
    SessionHandle& operator=(const SessionHandle&) = delete;
};

takt_request_options turn_of(uint32_t max_tokens) {
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    ask.max_tokens = max_tokens;
    ask.ignore_eos = 1;
    return ask;
}

takt_timing say(takt_session* session, const std::string& text, const takt_request_options& ask) {
    takt_timing timing = empty_timing();
    REQUIRE(takt_session_send(session, text.data(), text.size(), &ask, &timing) == TAKT_OK);
    return timing;
}

}  // namespace

TEST_CASE("A session keeps what was said, until it is reset") {
    Stack stack;
    const SessionHandle session(stack.engine);
    const takt_request_options ask = turn_of(3);
    const uint64_t first = say(session.session, "hi", ask).prompt_tokens;
    const uint64_t second = say(session.session, "hi", ask).prompt_tokens;
    CHECK(second > first);
    REQUIRE(takt_session_reset(session.session) == TAKT_OK);
    CHECK(say(session.session, "hi", ask).prompt_tokens == first);
}

TEST_CASE("A turn that doesn't fit leaves the conversation as it was") {
    Stack stack;
    const SessionHandle session(stack.engine);
    const takt_request_options ask = turn_of(3);
    const uint64_t first = say(session.session, "hi", ask).prompt_tokens;
    const std::string flood(3000, 'z');
    CHECK(takt_session_send(session.session, flood.data(), flood.size(), &ask, nullptr) ==
          TAKT_ERROR_PROMPT_TOO_LONG);
    CHECK(last_error_names("256"));
    const uint64_t second = say(session.session, "hi", ask).prompt_tokens;
    CHECK(second > first);
    CHECK(second < 2 * first + 40);  // the flood is not part of it
}

TEST_CASE("A session is busy while it answers, also for its own callback") {
    Stack stack;
    const SessionHandle session(stack.engine);
    takt_request_options ask = turn_of(3);
    ask.user_data = session.session;
    ask.on_event = [](void* user_data, const takt_event* event) -> int32_t {
        auto* busy = static_cast<takt_session*>(user_data);
        const takt_request_options again = turn_of(1);
        if (event->token_index == 0) {
            CHECK(takt_session_send(busy, "no", 2, &again, nullptr) == TAKT_ERROR_INVALID_STATE);
            CHECK(takt_session_reset(busy) == TAKT_ERROR_INVALID_STATE);
        }
        return TAKT_CONTINUE;
    };
    CHECK(say(session.session, "hi", ask).generated_tokens == 3);
}

TEST_CASE("Another thread ends a turn, and what was said stays") {
    Stack stack;
    const SessionHandle session(stack.engine);
    std::atomic<bool> running = false;
    takt_request_options ask = turn_of(150);
    ask.user_data = &running;
    ask.on_event = [](void* user_data, const takt_event*) -> int32_t {
        static_cast<std::atomic<bool>*>(user_data)->store(true);
        return TAKT_CONTINUE;
    };
    takt_status cancelled = TAKT_ERROR_INTERNAL;
    std::thread other([&] {
        while (!running) std::this_thread::yield();
        cancelled = takt_session_cancel(session.session);
    });
    const takt_timing timing = say(session.session, "hi", ask);
    other.join();
    CHECK(cancelled == TAKT_OK);
    CHECK((timing.finish_reason == TAKT_FINISH_CANCELLED || timing.generated_tokens == 150));
    CHECK(timing.generated_tokens >= 1);
}

TEST_CASE("A session destroyed inside its own callback is gone once the turn is over") {
    Stack stack;
    takt_session* session = nullptr;
    REQUIRE(takt_session_create(stack.engine, nullptr, 0, &session) == TAKT_OK);
    takt_request_options ask = turn_of(100);
    ask.user_data = session;
    ask.on_event = [](void* user_data, const takt_event* event) -> int32_t {
        if (event->type == TAKT_EVENT_TOKEN && event->token_index == 0)
            takt_session_destroy(static_cast<takt_session*>(user_data));
        return TAKT_CONTINUE;
    };
    takt_timing timing = empty_timing();
    REQUIRE(takt_session_send(session, "hi", 2, &ask, &timing) == TAKT_OK);
    CHECK((timing.finish_reason == TAKT_FINISH_CANCELLED || timing.generated_tokens == 100));
}
