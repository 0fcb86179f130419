// What is there already isn't computed: a chat's second turn, and requests with one system prompt.
#include <fmt/format.h>

#include "scenarios.h"

namespace bench {
namespace {

constexpr uint32_t kChatTokens = 1420;  // of the first message; the answer and the template make it 1,500
constexpr uint32_t kAnswerTokens = 64;
constexpr uint32_t kSystemTokens = 1000, kRequests = 20, kQuestionTokens = 30;

// About something else in each round, so that rounds don't serve each other.
std::string long_message(const takt::Model& model, uint32_t round) {
    std::string text = fmt::format("Here is log number {}.\n", 100 + round);
    Random random(round + 1);
    while (model.tokenize(text).size() < kChatTokens) {
        text += fmt::format("Station {} reports {} wagons and {} tons of coal.\n", random.between(1, 400),
                            random.between(2, 60), random.between(5, 900));
    }
    return text + "Which station has the most coal?";
}

takt_timing second_turn_of(takt::Engine& engine, const std::string& message) {
    takt::RequestOptions options;
    options.max_tokens = kAnswerTokens;
    options.ignore_eos = true;
    takt::Session session(engine, "You answer briefly.");
    session.send(message, options);
    options.max_tokens = 2;
    return session.send("And which one has the fewest wagons?", options);
}

takt::EngineOptions with_reuse(bool prefix_reuse) {
    takt::EngineOptions options;
    options.prefix_reuse = prefix_reuse;
    return options;
}

// Part of the system prompt's tokens that wasn't computed, over all requests.
double saved(const Stack& stack, bool at_once) {
    takt::Engine engine(stack.model(), with_reuse(true));
    Random random(7);
    const std::vector<int32_t> system = random.ids(kSystemTokens, stack.vocab_size());
    std::vector<takt::Request> requests;
    for (uint32_t i = 0; i < kRequests; ++i) {
        takt::RequestOptions options;
        options.prompt_ids = system;
        const std::vector<int32_t> question = random.ids(kQuestionTokens, stack.vocab_size());
        options.prompt_ids.insert(options.prompt_ids.end(), question.begin(), question.end());
        options.max_tokens = 8;
        options.ignore_eos = true;
        requests.push_back(engine.submit(options));
        if (!at_once) wait_for(requests.back());
    }
    for (takt::Request& request : requests) wait_for(request);
    return static_cast<double>(engine.statistics().prompt_tokens_cached) / (kRequests * kSystemTokens);
}

}  // namespace

void second_turn(const Stack& stack) {
    takt::Engine reuses(stack.model(), with_reuse(true)), computes(stack.model(), with_reuse(false));
    std::vector<double> quick_ms, slow_ms, falls;
    uint64_t prompt_tokens = 0, cached_tokens = 0;
    for (uint32_t round = 0; round < kRounds; ++round) {
        const std::string message = long_message(stack.model(), round);
        const takt_timing quick = second_turn_of(reuses, message), slow = second_turn_of(computes, message);
        quick_ms.push_back(static_cast<double>(quick.ttft_ns) / 1e6);
        slow_ms.push_back(static_cast<double>(slow.ttft_ns) / 1e6);
        falls.push_back(1 - quick_ms.back() / slow_ms.back());
        prompt_tokens = quick.prompt_tokens;
        cached_tokens = quick.cached_tokens;
    }
    Row("second_turn")
        .add("reused_ttft_ms", median(quick_ms))
        .add("computed_ttft_ms", median(slow_ms))
        .add("falls_by", median(falls))
        .add("prompt_tokens", prompt_tokens)
        .add("cached_tokens", cached_tokens);
}

void shared_prompt(const Stack& stack) {
    Row("shared_prompt").add("saved_in_turn", saved(stack, false)).add("saved_at_once", saved(stack, true));
}

}  // namespace bench
