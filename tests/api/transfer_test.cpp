// Forks, exports and imports through the C interface: who may call when, and what a handle may outlive.
#include <catch2/catch.hpp>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <takt/takt.hpp>

#include "c_fixture.h"

namespace {

using namespace takt_test;

using Bytes = std::vector<unsigned char>;

int32_t keep(void* user_data, const void* bytes, size_t n_bytes) {
    auto* to = static_cast<Bytes*>(user_data);
    const auto* from = static_cast<const unsigned char*>(bytes);
    to->insert(to->end(), from, from + n_bytes);
    return TAKT_CONTINUE;
}

takt_request* pinned(takt_engine* engine) {
    takt_request_options ask = golden_request(0);
    ask.keep_state = 1;
    takt_request* request = nullptr;
    REQUIRE(takt_engine_submit(engine, &ask, &request) == TAKT_OK);
    REQUIRE(takt_request_wait(request, UINT64_MAX) == TAKT_OK);
    return request;
}

}  // namespace

TEST_CASE("a kept request outlives its engine, and then says that it is gone") {
    Stack stack;
    takt_request* pin = pinned(stack.engine);
    REQUIRE(takt_engine_destroy(std::exchange(stack.engine, nullptr)) == TAKT_OK);
    const takt_request_options ask = golden_request(4);
    takt_request* fork = nullptr;
    Bytes bytes;
    CHECK(takt_request_fork(pin, &ask, 0, &fork) == TAKT_ERROR_INVALID_STATE);
    CHECK(last_error_names("destroyed"));
    CHECK(takt_request_export(pin, keep, &bytes, nullptr) == TAKT_ERROR_INVALID_STATE);
    CHECK(bytes.empty());
    takt_request_destroy(pin);
}

TEST_CASE("a fork may be made in the callback of its source, an export not") {
    struct Shared {
        takt_request *first = nullptr, *fork = nullptr;
        takt_status forked = TAKT_OK, exported = TAKT_OK;
        std::vector<int32_t> ids;
    } shared;
    Stack stack;
    takt_request_options ask = golden_request(8);
    ask.user_data = &shared;
    ask.on_event = [](void* user_data, const takt_event* event) -> int32_t {
        auto* self = static_cast<Shared*>(user_data);
        if (event->type != TAKT_EVENT_TOKEN || event->token_index != 0) return TAKT_CONTINUE;
        const takt_request_options again = golden_request(7);
        Bytes bytes;
        self->forked = takt_request_fork(self->first, &again, 0, &self->fork);
        self->exported = takt_request_export(self->first, keep, &bytes, nullptr);
        return TAKT_CONTINUE;
    };
    REQUIRE(takt_engine_submit(stack.engine, &ask, &shared.first) == TAKT_OK);
    REQUIRE(takt_request_wait(shared.first, UINT64_MAX) == TAKT_OK);
    CHECK(shared.exported == TAKT_ERROR_INVALID_STATE);
    REQUIRE(shared.forked == TAKT_OK);
    takt_event event = empty_event();
    while (takt_request_next(shared.fork, UINT64_MAX, &event) == TAKT_OK) {
        if (event.type == TAKT_EVENT_TOKEN) shared.ids.push_back(event.token_id);
    }
    CHECK(shared.ids == std::vector<int32_t>(golden_answer().begin() + 1, golden_answer().end()));
    takt_request_destroy(shared.fork);
    takt_request_destroy(shared.first);
}

TEST_CASE("an engine that is destroyed ends the exports that wait for their reader") {
    Stack stack;
    takt_request* pin = pinned(stack.engine);
    std::atomic<bool> writing = false;
    takt_status status = TAKT_OK, inside = TAKT_OK;
    struct Slow {
        std::atomic<bool>& writing;
        takt_engine* engine;
        takt_status& inside;
    } slow{writing, stack.engine, inside};
    std::thread writer([&] {
        status = takt_request_export(
            pin,
            [](void* user_data, const void*, size_t) -> int32_t {
                auto* self = static_cast<Slow*>(user_data);
                if (!self->writing) self->inside = takt_engine_destroy(self->engine);
                self->writing = true;
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                return TAKT_CONTINUE;
            },
            &slow, nullptr);
    });
    while (!writing) std::this_thread::yield();
    CHECK(takt_engine_destroy(std::exchange(stack.engine, nullptr)) == TAKT_OK);
    writer.join();
    CHECK(inside == TAKT_ERROR_INVALID_STATE);
    CHECK((status == TAKT_ERROR_CANCELLED || status == TAKT_ERROR_INVALID_STATE || status == TAKT_OK));
    takt_request_destroy(pin);
}

TEST_CASE("a state of other keys and values is refused by type") {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    limits.kv_type = TAKT_KV_F32;
    Stack stack, other(limits);
    takt_request* pin = pinned(stack.engine);
    Bytes bytes;
    REQUIRE(takt_request_export(pin, keep, &bytes, nullptr) == TAKT_OK);
    takt_request_destroy(pin);
    struct Source {
        const Bytes& bytes;
        size_t at;
    } source{bytes, 0};
    const takt_request_options ask = golden_request(1);
    takt_request* request = nullptr;
    const takt_status status = takt_engine_import(
        other.engine,
        [](void* user_data, void* out, size_t n_bytes) -> int32_t {
            auto* from = static_cast<Source*>(user_data);
            if (n_bytes > from->bytes.size() - from->at) return TAKT_STOP;
            std::memcpy(out, from->bytes.data() + from->at, n_bytes);
            from->at += n_bytes;
            return TAKT_CONTINUE;
        },
        &source, &ask, nullptr, &request);
    CHECK(status == TAKT_ERROR_STATE_MISMATCH);
    CHECK(last_error_names("f16"));
    CHECK(request == nullptr);
}

TEST_CASE("takt.hpp forks, exports and imports, and brings out what callbacks throw") {
    const takt::Runtime runtime;
    const takt::Model model(runtime, tiny_model());
    takt::Engine engine(model), second(model);
    const auto options = [](uint32_t max_tokens, bool keep_state) {
        takt::RequestOptions ask;
        ask.prompt_ids = golden_prompt();
        ask.max_tokens = max_tokens;
        ask.ignore_eos = true;
        ask.keep_state = keep_state;
        return ask;
    };
    const auto pull = [](takt::Request request) {
        std::vector<int32_t> ids;
        for (auto event = request.next(); event->is_token(); event = request.next())
            ids.push_back(event->raw.token_id);
        return ids;
    };
    takt::Request pin = engine.submit(options(0, true));
    pin.wait();
    CHECK(pull(pin.fork(options(8, false))) == golden_answer());
    Bytes bytes;
    const takt_transfer sent = pin.export_state([&](const void* data, size_t n) {
        keep(&bytes, data, n);
        return true;
    });
    CHECK(sent.transfer_bytes == bytes.size());
    size_t at = 0;
    takt_transfer received{};
    takt::Request moved = second.import_state(
        [&](void* out, size_t n) {
            std::memcpy(out, bytes.data() + at, n);
            at += n;
            return true;
        },
        options(8, false), &received);
    CHECK(pull(std::move(moved)) == golden_answer());
    CHECK(received.n_tokens == golden_prompt().size());
    CHECK_THROWS_AS(pin.export_state([](const void*, size_t) -> bool { throw std::out_of_range("full"); }),
                    std::out_of_range);
    CHECK_THROWS_AS(second.import_state([](void*, size_t) -> bool { throw std::out_of_range("shut"); },
                                        options(1, false)),
                    std::out_of_range);
}
