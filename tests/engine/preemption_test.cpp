// Pages run out: who came last of the lowest priority gives way, loses no token, and its times tell.
#include <algorithm>

#include "engine_fixture.h"

namespace takt {
namespace {

using namespace takt::test;

RequestOptions request_of(int i, int32_t priority, size_t n_prompt = 30, uint32_t n_tokens = 90) {
    RequestOptions options = prompt_of(n_prompt, n_tokens, i);
    options.ignore_eos = true;
    options.priority = priority;
    return options;
}

EngineOptions few_pages() {
    EngineOptions options;
    options.context_tokens = 128;
    options.kv_tokens =
        256;  // eight pages and a part of one for each sequence; four requests grow to four each
    options.max_sequences = 4;
    return options;
}

std::vector<int32_t> alone(const EngineOptions& options, const RequestOptions& request) {
    Fixture fixture(options);
    return run(fixture.start(), request).ids;
}

}  // namespace

TEST_CASE("requests that outgrow the pages give way, in order, and get the tokens of each alone") {
    for (const bool reuse : {true, false}) {
        EngineOptions options = few_pages();
        options.prefix_reuse = reuse;
        Fixture fixture(options);
        Gate gate;
        fixture.hold_steps(gate);
        Engine& engine = fixture.start();
        std::vector<Heard> heard(4);
        std::vector<std::unique_ptr<Request>> requests;
        const std::vector<int32_t> priorities = {0, 0, 1, 0};
        for (size_t i = 0; i < 4; ++i) {
            requests.push_back(
                std::move(*submit(engine, request_of(static_cast<int>(i), priorities[i]), heard[i])));
        }
        gate.open();
        std::vector<uint32_t> preemptions;
        for (size_t i = 0; i < 4; ++i) {
            REQUIRE(requests[i]->wait(UINT64_MAX).ok());
            INFO(heard[i].message);
            CHECK(heard[i].reason == FinishReason::length);
            CHECK(heard[i].in_order);
            CHECK(heard[i].ids == alone(options, request_of(static_cast<int>(i), priorities[i])));
            preemptions.push_back(requests[i]->timeline().n_preemptions);
            check_identity(requests[i]->timing());
        }
        CHECK(preemptions[2] == 0);  // the highest priority
        CHECK(preemptions[0] == 0);  // the oldest of the others
        CHECK(preemptions[3] > 0);   // the youngest
    }
}

TEST_CASE("a preempted request that waits again ends at its deadline, and when it is cancelled") {
    const bool cancels = GENERATE(false, true);
    EngineOptions options = few_pages();
    options.prefix_reuse = false;
    Fixture fixture(options);
    Gate gate;
    bool seen = false;
    std::vector<std::unique_ptr<Request>> requests;
    fixture.script.before_run = [&](const StepBatch& batch) {
        gate.pass();
        const bool here = std::ranges::any_of(batch.sequences, [](const auto& s) { return s.sequence == 4; });
        if (seen && !here) {
            if (cancels) requests[3]->cancel();
            fixture.manual->advance_ns(2'000'000'000);
        }
        seen = seen || here;
        return Status();
    };
    Engine& engine = fixture.start();
    std::vector<Heard> heard(4);
    for (int i = 0; i < 4; ++i) {
        RequestOptions request = request_of(i, 0);
        if (i == 3 && !cancels) request.deadline_ns = 1'000'000'000;
        requests.push_back(std::move(*submit(engine, request, heard[static_cast<size_t>(i)])));
    }
    gate.open();
    for (const auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
    CHECK(requests[3]->timeline().n_preemptions == 1);
    CHECK(heard[3].reason == (cancels ? FinishReason::cancelled : FinishReason::deadline));
    CHECK(heard[3].ids.size() < 90);
    for (size_t i = 0; i < 3; ++i) CHECK(heard[i].reason == FinishReason::length);
}

TEST_CASE("a higher priority is admitted first, equal ones in the order of their coming") {
    EngineOptions options;
    options.max_sequences = 1;
    Fixture fixture(options);
    Gate gate;
    std::vector<uint64_t> order;
    fixture.script.before_run = [&](const StepBatch& batch) {
        gate.pass();
        if (order.empty() || order.back() != batch.sequences[0].sequence)
            order.push_back(batch.sequences[0].sequence);
        return Status();
    };
    Engine& engine = fixture.start();
    std::vector<std::unique_ptr<Request>> requests;
    requests.push_back(std::move(*engine.submit(request_of(0, 0, 3, 2))));
    gate.wait_for_arrivals(1);
    for (const int32_t priority : {0, 5, -1, 5, 0})
        requests.push_back(std::move(*engine.submit(request_of(1, priority, 3, 2))));
    gate.open();
    for (const auto& request : requests) REQUIRE(request->wait(UINT64_MAX).ok());
    CHECK(order == std::vector<uint64_t>{1, 3, 5, 2, 6, 4});
}

}  // namespace takt
