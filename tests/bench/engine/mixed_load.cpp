// A static batch computes rows for those that are through until its longest ends: here all of it generate as
// long as the longest, and what they weren't asked for counts as nothing.
#include <algorithm>
#include <span>

#include "scenarios.h"

namespace bench {
namespace {

constexpr uint32_t kRequests = 64, kSlots = 16, kStaticRows = 8, kPageTokens = 16;
constexpr uint32_t kAloneEvery = 8;  // one after another, only so many of them run: the rate is the same
constexpr uint32_t kShortestPrompt = 30, kLongestPrompt = 300;
constexpr uint32_t kFewestTokens = 50, kMostTokens = 800;

std::vector<takt::RequestOptions> requests(uint32_t vocab_size) {
    Random random(1);
    std::vector<takt::RequestOptions> requests(kRequests);
    for (takt::RequestOptions& request : requests) {
        request.prompt_ids = random.ids(random.between(kShortestPrompt, kLongestPrompt), vocab_size);
        request.max_tokens = random.between(kFewestTokens, kMostTokens);
        request.ignore_eos = true;
    }
    return requests;
}

takt::EngineOptions engine_options() {
    takt::EngineOptions options;
    options.max_sequences = kSlots;
    options.context_tokens = 1152;
    options.kv_tokens = kSlots * options.context_tokens;
    options.page_tokens = kPageTokens;
    options.prefix_reuse = false;
    return options;
}

void run_at_once(takt::Engine& engine, std::span<const takt::RequestOptions> some) {
    std::vector<takt::Request> running;
    for (const takt::RequestOptions& options : some) running.push_back(engine.submit(options));
    for (takt::Request& request : running) wait_for(request);
}

uint64_t wanted_tokens(std::span<const takt::RequestOptions> some) {
    uint64_t total = 0;
    for (const takt::RequestOptions& options : some) total += options.max_tokens;
    return total;
}

void run_static(takt::Engine& engine, std::span<const takt::RequestOptions> all) {
    for (size_t first = 0; first < all.size(); first += kStaticRows) {
        const auto batch = all.subspan(first, kStaticRows);
        std::vector<takt::RequestOptions> padded(batch.begin(), batch.end());
        uint32_t longest = 0;
        for (const takt::RequestOptions& options : batch) longest = std::max(longest, options.max_tokens);
        for (takt::RequestOptions& options : padded) options.max_tokens = longest;
        run_at_once(engine, padded);
    }
}

template <typename Run>
double tokens_per_second(const Stack& stack, uint64_t n_tokens, Run run) {
    const uint64_t begin_ns = stack.runtime.now_ns();
    run();
    return static_cast<double>(n_tokens) * 1e9 / static_cast<double>(stack.runtime.now_ns() - begin_ns);
}

}  // namespace

void mixed_load(const Stack& stack) {
    const std::vector<takt::RequestOptions> all = requests(stack.vocab_size());
    takt::Engine together(stack.model(), engine_options()), others(stack.model(), engine_options());
    std::vector<double> continuous, alone, fixed, beside_alone, beside_fixed;
    for (uint32_t round = 0; round < kRounds; ++round) {
        std::vector<takt::RequestOptions> sample;
        for (uint32_t i = round; i < kRequests; i += kAloneEvery) sample.push_back(all[i]);
        continuous.push_back(
            tokens_per_second(stack, wanted_tokens(all), [&] { run_at_once(together, all); }));
        alone.push_back(tokens_per_second(stack, wanted_tokens(sample), [&] {
            for (const takt::RequestOptions& options : sample) run_at_once(others, {&options, 1});
        }));
        fixed.push_back(tokens_per_second(stack, wanted_tokens(all), [&] { run_static(others, all); }));
        beside_alone.push_back(continuous.back() / alone.back());
        beside_fixed.push_back(continuous.back() / fixed.back());
    }
    const takt_engine_statistics statistics = together.statistics();
    Row("mixed_load")
        .add("together_per_second", median(continuous))
        .add("alone_per_second", median(alone))
        .add("static_per_second", median(fixed))
        .add("beside_alone", median(beside_alone))
        .add("beside_static", median(beside_fixed))
        .add("page_waste", statistics.page_waste)
        .add("preemptions", statistics.n_preemptions);
}

}  // namespace bench
