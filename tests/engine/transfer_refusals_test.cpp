// What goes wrong between two engines is a sentence, and leaves nothing behind.
#include <cstdlib>
#include <random>

#include "transfer_fixture.h"

namespace takt {

using namespace takt::test;

TEST_CASE("exports that are stopped, cancelled or too late say so") {
    Fixture here;
    Engine& engine = here.start();
    auto request = engine.submit(sampled(prompt_of(70, 3), true));
    auto plain = engine.submit(sampled(prompt_of(70, 3), false));
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    REQUIRE((*plain)->wait(UINT64_MAX).ok());
    Bytes bytes;
    Transfer transfer;
    const Status late = engine.export_state(**plain, to(bytes), transfer);
    CHECK(late.code() == StatusCode::invalid_state);
    CHECK(late.message().find("keep_state") != std::string::npos);
    CHECK(bytes.empty());
    int n = 0;
    const Status stopped =
        engine.export_state(**request, [&](std::span<const std::byte>) { return ++n < 3; }, transfer);
    CHECK(stopped.code() == StatusCode::cancelled);
    const Status cancelled = engine.export_state(
        **request,
        [&](std::span<const std::byte>) {
            engine.cancel_all();
            return true;
        },
        transfer);
    CHECK(cancelled.code() == StatusCode::cancelled);
    CHECK_THROWS(
        engine.export_state(**request, [](std::span<const std::byte>) -> bool { throw 5; }, transfer));
    request->reset();
    CHECK(no_pages_in_use(engine));
}

TEST_CASE("an import without room says what it needs, and one that comes in time runs when there is") {
    EngineOptions small;
    small.context_tokens = 128;
    small.kv_tokens = 128;
    small.max_sequences = 2;
    Fixture here, there(small);
    Engine &first = here.start(), &second = there.start();
    const Bytes bytes = exported(first, sampled(prompt_of(70, 0), true));
    const Heard alone = run(first, sampled(prompt_of(70, 40), false));
    auto pin = second.submit(sampled(prompt_of(100, 0, 1), true));
    REQUIRE((*pin)->wait(UINT64_MAX).ok());
    const Imported refused = imported(second, bytes, sampled(prompt_of(0, 40), false));
    CHECK(refused.status.code() == StatusCode::out_of_memory);
    CHECK(refused.status.message().find("69 tokens need 3 pages") != std::string::npos);
    pin->reset();
    // Two at once, of which one must wait or give way.
    Heard heard[2];
    std::unique_ptr<Request> requests[2];
    for (int i = 0; i < 2; ++i) {
        RequestOptions options = sampled(prompt_of(0, 40), false);
        options.on_event = [&heard, i](const Event& event) { return heard[i].hear(event); };
        Transfer transfer;
        auto request = second.import_state(From(bytes), std::move(options), transfer);
        if (!request.ok()) {
            CHECK(request.status().code() == StatusCode::out_of_memory);
            continue;
        }
        requests[i] = std::move(*request);
    }
    for (int i = 0; i < 2; ++i) {
        if (!requests[i]) continue;
        REQUIRE(requests[i]->wait(UINT64_MAX).ok());
        CHECK(heard[i].ids == alone.ids);
    }
    CHECK(requests[0] != nullptr);
    CHECK(no_pages_in_use(second));
}

TEST_CASE("imports that wait with pages of their own don't keep each other from running") {
    EngineOptions small;
    small.context_tokens = 160;
    small.kv_tokens = 224;  // seven pages and a bit: two states of three, and no room to grow
    small.max_sequences = 2;
    Fixture here, there(small);
    Engine &first = here.start(), &second = there.start();
    const Bytes bytes = exported(first, sampled(prompt_of(90, 0), true));
    const Heard alone = run(first, sampled(prompt_of(90, 60), false));
    Heard heard[2];
    std::unique_ptr<Request> requests[2];
    for (int i = 0; i < 2; ++i) {
        RequestOptions options = sampled(prompt_of(0, 60), false);
        options.on_event = [&heard, i](const Event& event) { return heard[i].hear(event); };
        Transfer transfer;
        auto request = second.import_state(From(bytes), std::move(options), transfer);
        INFO(request.status().message());
        REQUIRE(request.ok());
        requests[i] = std::move(*request);
    }
    for (int i = 0; i < 2; ++i) {
        REQUIRE(requests[i]->wait(UINT64_MAX).ok());
        CHECK(heard[i].ids == alone.ids);
    }
    CHECK(no_pages_in_use(second));
}

TEST_CASE("damaged states are refused by the engine and leave no page behind") {
    EngineOptions small;
    small.context_tokens = 256;
    small.kv_tokens = 256;
    Fixture here, there(small);
    Engine &first = here.start(), &second = there.start();
    const Bytes sound = exported(first, sampled(prompt_of(70, 2), true));
    const char* wanted = std::getenv("TAKT_CORRUPTIONS");  // as many as someone has time for
    const int n_rounds = wanted != nullptr ? std::atoi(wanted) : 200;
    std::mt19937 random(17);
    int n_harmless = 0;
    for (int round = 0; round < n_rounds; ++round) {
        Bytes bytes = sound;
        const size_t at = random() % (random() % 2 == 0 ? 400 : bytes.size());
        switch (random() % 3) {
            case 0:
                bytes[at] ^= static_cast<std::byte>(1 << random() % 8);
                break;
            case 1:
                bytes.resize(at);
                break;
            default:
                bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at));
        }
        const Imported refused = imported(second, bytes, sampled(prompt_of(0, 1), false));
        INFO("round " << round << ", byte " << at << ": " << refused.status.message());
        const StatusCode code = refused.status.code();
        n_harmless += code == StatusCode::ok ? 1 : 0;
        CHECK((code == StatusCode::state_corrupt || code == StatusCode::state_mismatch));
        CHECK(refused.heard.events.empty());
    }
    CHECK(n_harmless == 0);
    CHECK(no_pages_in_use(second));
    CHECK(imported(second, sound, sampled(prompt_of(0, 5), false)).heard.ids.size() == 5);
}

TEST_CASE("states of another model, of more tokens than fit, and options that contradict are refused") {
    Fixture llama, gemma({}, tiny_gemma());
    EngineOptions short_context;
    short_context.context_tokens = 71;
    Fixture small(short_context);
    Engine& engine = llama.start();
    const Bytes bytes = exported(engine, sampled(prompt_of(71, 0), true));
    const Imported other = imported(gemma.start(), bytes, prompt_of(0, 1));
    CHECK(other.status.code() == StatusCode::state_mismatch);
    CHECK(other.status.message().find("is of model") != std::string::npos);
    CHECK(imported(small.start(), bytes, prompt_of(0, 1)).status.code() == StatusCode::prompt_too_long);
    RequestOptions wrong = prompt_of(0, 1);
    wrong.sampler.temperature = -1;
    CHECK(imported(engine, bytes, wrong).status.code() == StatusCode::invalid_argument);
    CHECK(no_pages_in_use(engine));
    CHECK(no_pages_in_use(*small.engine));
}

TEST_CASE("an engine that ends while a transfer waits refuses the rest") {
    Fixture here, there;
    Engine& first = here.start();
    const Bytes bytes = exported(first, sampled(prompt_of(70, 2), true));
    there.start();
    From from(bytes);
    size_t n_calls = 0;
    Transfer transfer;
    const auto request = there.engine->import_state(
        [&](std::span<std::byte> out) {
            if (++n_calls == 5) there.engine->cancel_all();
            return from(out);
        },
        prompt_of(0, 1), transfer);
    CHECK(request.status().code() == StatusCode::cancelled);
    CHECK(no_pages_in_use(*there.engine));
}

}  // namespace takt
