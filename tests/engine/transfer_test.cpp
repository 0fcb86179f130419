// A request leaves one engine and goes on in another with the tokens it would have had, and what goes wrong
// on the way leaves nothing behind.
#include <cstring>
#include <random>
#include <thread>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

using Bytes = std::vector<std::byte>;

RequestOptions sampled(RequestOptions options, bool keep) {
    options.ignore_eos = true;
    options.keep_state = keep;
    options.sampler.temperature = 1;
    options.sampler.seed = 5;
    options.sampler.repetition_penalty = 1.2f;
    return options;
}

WriteBytes to(Bytes& out) {
    return [&out](std::span<const std::byte> bytes) {
        out.insert(out.end(), bytes.begin(), bytes.end());
        return true;
    };
}

class From {
public:
    explicit From(const Bytes& bytes) : bytes_(bytes) {}
    bool operator()(std::span<std::byte> out) {
        if (bytes_.size() - at_ < out.size()) return false;
        std::memcpy(out.data(), bytes_.data() + at_, out.size());
        at_ += out.size();
        return true;
    }

private:
    const Bytes& bytes_;
    size_t at_ = 0;
};

Bytes exported(Engine& engine, const RequestOptions& options) {
    auto request = engine.submit(options);
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    Bytes bytes;
    Transfer transfer;
    const Status status = engine.export_state(**request, to(bytes), transfer);
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(transfer.bytes == bytes.size());
    return bytes;
}

struct Imported {
    Status status;
    Heard heard;
    Transfer transfer;
    TimingSummary timing;
    std::vector<int32_t> began_with;
};

Imported imported(Engine& engine, const Bytes& bytes, RequestOptions options) {
    Imported result;
    options.on_event = [&](const Event& event) { return result.heard.hear(event); };
    auto request = engine.import_state(From(bytes), std::move(options), result.transfer);
    result.status = request.status();
    if (!request.ok()) return result;
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    result.timing = (*request)->timing();
    const auto ids = (*request)->prompt_ids();
    result.began_with.assign(ids.begin(), ids.end());
    return result;
}

EngineOptions other_chunks() {
    EngineOptions options;
    options.chunk_tokens = 7;
    options.max_sequences = 3;
    options.context_tokens = 200;
    return options;
}

}  // namespace

TEST_CASE("an imported request has the tokens of one that never moved") {
    const auto model = GENERATE(0, 1) == 0 ? tiny_llama() : tiny_gemma();
    Fixture here({}, model), there(other_chunks(), model);
    Engine &first = here.start(), &second = there.start();
    const uint32_t n_before = GENERATE(0u, 1u, 30u);
    const Heard whole = run(first, sampled(prompt_of(70, n_before + 40), false));
    const Bytes bytes = exported(first, sampled(prompt_of(70, n_before), true));
    const Imported moved = imported(second, bytes, sampled(prompt_of(0, 40), false));
    INFO(moved.status.message());
    REQUIRE(moved.status.ok());
    INFO(moved.heard.message);
    CHECK(moved.heard.ids == std::vector<int32_t>(whole.ids.begin() + n_before, whole.ids.end()));
    CHECK(moved.heard.in_order);
    CHECK(moved.began_with.size() == 70 + n_before);
    CHECK(moved.timing.cached_tokens == 69 + n_before);
    CHECK(moved.transfer.bytes == bytes.size());
    CHECK(moved.transfer.n_tokens == 70 + n_before);
    CHECK(moved.transfer.n_computed == 69 + n_before);
    check_identity(moved.timing);
    CHECK(no_pages_in_use(first));
    CHECK(no_pages_in_use(second));
}

TEST_CASE("imported pages serve nobody else, but forks of their request") {
    Fixture here, there;
    Engine &first = here.start(), &second = there.start();
    const Bytes bytes = exported(first, sampled(prompt_of(70, 0), true));
    Transfer transfer;
    auto request = second.import_state(From(bytes), sampled(prompt_of(0, 3), true), transfer);
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    auto stranger = second.submit(prompt_of(70, 2));
    REQUIRE((*stranger)->wait(UINT64_MAX).ok());
    CHECK((*stranger)->timing().cached_tokens == 0);
    auto fork = second.fork(**request, prompt_of(0, 2), 0);
    REQUIRE((*fork)->wait(UINT64_MAX).ok());
    CHECK((*fork)->timing().cached_tokens == 72);
}

TEST_CASE("a request is exported while it and others run, and both ends have its tokens") {
    Fixture here, there;
    Gate gate;
    here.hold_steps(gate);
    Engine &first = here.start(), &second = there.start();
    Heard stays, beside;
    auto other = submit(first, sampled(prompt_of(30, 120, 2), false), beside);
    auto request = submit(first, sampled(prompt_of(70, 120), false), stays);
    gate.wait_for_arrivals(1);
    gate.open();
    while ((*request)->timeline().steps.size() < 3) std::this_thread::yield();
    Bytes bytes;
    Transfer transfer;
    const Status status = first.export_state(**request, to(bytes), transfer);
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    REQUIRE((*other)->wait(UINT64_MAX).ok());
    if (status.code() == StatusCode::invalid_state) return;  // the machine was that slow
    INFO(status.message());
    REQUIRE(status.ok());
    REQUIRE(transfer.n_tokens > 70);
    const uint32_t n_before = transfer.n_tokens - 70;
    const Imported moved = imported(second, bytes, sampled(prompt_of(0, 120 - n_before), false));
    REQUIRE(moved.status.ok());
    CHECK(stays.ids.size() == 120);
    CHECK(moved.heard.ids == std::vector<int32_t>(stays.ids.begin() + n_before, stays.ids.end()));
    CHECK(stays.ids == run(second, sampled(prompt_of(70, 120), false)).ids);
    CHECK(beside.ids == run(second, sampled(prompt_of(30, 120, 2), false)).ids);
    CHECK(no_pages_in_use(first));
}

TEST_CASE("a slow writer holds up nobody, and a request destroyed meanwhile is exported whole") {
    Fixture here;
    Engine& engine = here.start();
    std::unique_ptr<Request> request = std::move(*engine.submit(sampled(prompt_of(70, 3), true)));
    REQUIRE(request->wait(UINT64_MAX).ok());
    size_t n_calls = 0;
    Transfer transfer;
    StatusCode inside = StatusCode::ok;
    std::thread user;
    const Status status = engine.export_state(
        *request,
        [&](std::span<const std::byte>) {
            if (++n_calls == 3) {
                user = std::thread([&] { CHECK(engine.generate(prompt_of(20, 5, 1)).ok()); });
                user.join();
                inside = engine.generate(prompt_of(3, 1)).status().code();
            }
            return true;
        },
        transfer);
    CHECK(status.ok());
    CHECK(n_calls > 3);
    CHECK(inside == StatusCode::invalid_state);
    request.reset();
    CHECK(no_pages_in_use(engine));
}

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
    Gate gate;
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
    const char* wanted = std::getenv("TAKT_CORRUPTIONS");
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
