// A request leaves one engine and goes on in another with the tokens it would have had.
#include <thread>

#include "transfer_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

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
    here.script.before_run = [](const StepBatch&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the export is sure to come in time
        return Status();
    };
    Engine &first = here.start(), &second = there.start();
    Heard stays, beside;
    auto other = submit(first, sampled(prompt_of(30, 120, 2), false), beside);
    auto request = submit(first, sampled(prompt_of(70, 120), false), stays);
    while ((*request)->timeline().steps.size() < 3) std::this_thread::yield();
    Bytes bytes;
    Transfer transfer;
    const Status status = first.export_state(**request, to(bytes), transfer);
    REQUIRE((*request)->wait(UINT64_MAX).ok());
    REQUIRE((*other)->wait(UINT64_MAX).ok());
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

}  // namespace takt
