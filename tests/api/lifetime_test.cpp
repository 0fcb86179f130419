// Handles in any order of destruction, two runtimes at once, engines that end while others use them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "c_fixture.h"

using namespace takt_test;

namespace {

std::vector<int32_t> greedy_ids(takt_engine* engine, uint32_t max_tokens) {
    std::vector<int32_t> ids;
    takt_request_options ask = golden_request(max_tokens);
    ask.user_data = &ids;
    ask.on_event = [](void* user_data, const takt_event* event) -> int32_t {
        if (event->type == TAKT_EVENT_TOKEN)
            static_cast<std::vector<int32_t>*>(user_data)->push_back(event->token_id);
        return TAKT_CONTINUE;
    };
    if (takt_engine_generate(engine, &ask, nullptr) != TAKT_OK) ids.clear();  // no REQUIRE: on any thread
    return ids;
}

}  // namespace

TEST_CASE("Runtime, model, engine, request and session are destroyed in every order") {
    std::array<int, 5> order = {0, 1, 2, 3, 4};
    do {
        Stack stack;
        takt_request* request = nullptr;
        takt_session* session = nullptr;
        takt_request_options ask = golden_request(40);
        REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
        REQUIRE(takt_session_create(stack.engine, nullptr, 0, &session) == TAKT_OK);
        for (const int which : order) {
            switch (which) {
                case 0:
                    takt_runtime_destroy(std::exchange(stack.runtime, nullptr));
                    break;
                case 1:
                    takt_model_destroy(std::exchange(stack.model, nullptr));
                    break;
                case 2:
                    REQUIRE(takt_engine_destroy(std::exchange(stack.engine, nullptr)) == TAKT_OK);
                    break;
                case 3:
                    takt_request_destroy(request);
                    break;
                default:
                    takt_session_destroy(session);
                    break;
            }
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("A request outlives everything and still tells its times") {
    takt_request* request = nullptr;
    {
        Stack stack;
        takt_request_options ask = golden_request(200);
        REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    }
    takt_timing timing = empty_timing();
    REQUIRE(takt_request_timing(request, &timing) == TAKT_OK);
    CHECK((timing.finish_reason == TAKT_FINISH_CANCELLED || timing.generated_tokens == 200));
    CHECK(timing.queue_ns + timing.prefill_ns + timing.decode_ns + timing.finish_ns == timing.e2e_ns);
    takt_event event = empty_event();
    do {
        REQUIRE(takt_request_next(request, UINT64_MAX, &event) == TAKT_OK);
    } while (event.type == TAKT_EVENT_TOKEN);
    takt_request_destroy(request);
}

TEST_CASE("A session goes on after its engine's handle is destroyed, and running requests don't") {
    Stack stack;
    takt_session* session = nullptr;
    takt_request* request = nullptr;
    takt_request_options ask = golden_request(200);
    REQUIRE(takt_session_create(stack.engine, nullptr, 0, &session) == TAKT_OK);
    REQUIRE(takt_engine_submit(stack.engine, &ask, &request) == TAKT_OK);
    REQUIRE(takt_engine_destroy(std::exchange(stack.engine, nullptr)) == TAKT_OK);
    CHECK(takt_request_wait(request, 0) == TAKT_OK);  // ended before destroy returned
    takt_request_options turn = TAKT_REQUEST_OPTIONS_INIT;
    turn.max_tokens = 3;
    turn.ignore_eos = 1;
    takt_timing timing = empty_timing();
    REQUIRE(takt_session_send(session, "hi", 2, &turn, &timing) == TAKT_OK);
    CHECK(timing.generated_tokens == 3);
    takt_request_destroy(request);
    takt_session_destroy(session);
}

TEST_CASE("Destroying an engine ends a blocking call of another thread") {
    Stack stack;
    std::atomic<bool> running = false;
    takt_request_options ask = golden_request(200);
    ask.user_data = &running;
    ask.on_event = [](void* user_data, const takt_event*) -> int32_t {
        static_cast<std::atomic<bool>*>(user_data)->store(true);
        return TAKT_CONTINUE;
    };
    takt_timing timing = empty_timing();
    takt_status generated = TAKT_ERROR_INTERNAL;
    std::thread other([&] { generated = takt_engine_generate(stack.engine, &ask, &timing); });
    while (!running) std::this_thread::yield();
    REQUIRE(takt_engine_destroy(stack.engine) == TAKT_OK);
    stack.engine = nullptr;
    other.join();
    CHECK(generated == TAKT_OK);
    CHECK((timing.finish_reason == TAKT_FINISH_CANCELLED || timing.generated_tokens == 200));
}

TEST_CASE("Two runtimes work at once and give the same tokens") {
    std::vector<int32_t> ids[2];
    Stack stacks[2];
    std::thread threads[2];
    for (int i = 0; i < 2; ++i)
        threads[i] = std::thread([&, i] { ids[i] = greedy_ids(stacks[i].engine, 8); });
    for (std::thread& thread : threads) thread.join();
    CHECK(ids[0] == golden_answer());
    CHECK(ids[1] == golden_answer());
}

TEST_CASE("Two engines of one model share its packed weights and give the same tokens") {
    Stack stack;
    takt_engine* second = nullptr;
    REQUIRE(takt_engine_create(stack.model, nullptr, &second) == TAKT_OK);
    CHECK(greedy_ids(second, 8) == golden_answer());
    takt_model_destroy(std::exchange(stack.model, nullptr));
    REQUIRE(takt_engine_destroy(std::exchange(stack.engine, nullptr)) == TAKT_OK);
    CHECK(greedy_ids(second, 8) == golden_answer());
    REQUIRE(takt_engine_destroy(second) == TAKT_OK);
}

TEST_CASE("Each thread has its own last error") {
    takt_runtime* none = nullptr;
    REQUIRE(takt_runtime_create(nullptr, nullptr) == TAKT_ERROR_INVALID_ARGUMENT);
    CHECK(last_error_names("out_runtime"));
    std::thread([] {
        CHECK(std::string(takt_last_error()).empty());
        CHECK(takt_engine_create(nullptr, nullptr, nullptr) == TAKT_ERROR_INVALID_ARGUMENT);
        CHECK(last_error_names("out_engine"));
    }).join();
    CHECK(last_error_names("out_runtime"));
    CHECK(takt_runtime_create(nullptr, &none) == TAKT_OK);
    CHECK(last_error_names("out_runtime"));  // a call that succeeds leaves it
    takt_runtime_destroy(none);
}
