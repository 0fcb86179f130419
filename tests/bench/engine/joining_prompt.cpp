// The gaps of four that decode, before a long prompt joins them and until its first token.
#include <algorithm>

#include "scenarios.h"

namespace bench {
namespace {

constexpr uint32_t kDecodes = 4, kPromptTokens = 64, kJoiningTokens = 2000;
constexpr uint32_t kSkippedTokens = 16,
                   kTokensBefore = 128;  // of the last of the four, when the prompt joins
constexpr uint32_t kMostTokens = 2500;   // enough to outlast it

struct Gaps {
    std::vector<double> before, joined;  // ns
};

struct Round {
    double median_ns = 0, p99_factor = 0, max_factor = 0;
    uint64_t n_joined_steps = 0, n_over_budget = 0, most_rows = 0;
};

takt::RequestOptions request(Random& random, uint32_t vocab_size, uint32_t prompt_tokens,
                             uint32_t max_tokens) {
    takt::RequestOptions options;
    options.prompt_ids = random.ids(prompt_tokens, vocab_size);
    options.max_tokens = max_tokens;
    options.ignore_eos = true;
    return options;
}

// Steps count by when they were computed: that is one time for all requests of a step.
void sort_gaps(takt::Request& request, uint64_t last_ready_ns, const takt_timing& joining,
               uint64_t first_token_computed_ns, Gaps& gaps) {
    for (auto event = request.next(); event && event->is_token(); event = request.next()) {
        const takt_event& raw = event->raw;
        const auto gap = static_cast<double>(raw.ready_ns - last_ready_ns);
        last_ready_ns = raw.ready_ns;
        if (raw.token_index < kSkippedTokens) continue;
        if (raw.computed_ns <= joining.submitted_ns) gaps.before.push_back(gap);
        if (raw.computed_ns > joining.scheduled_ns && raw.computed_ns <= first_token_computed_ns)
            gaps.joined.push_back(gap);
    }
}

Gaps run(takt::Engine& engine, uint32_t vocab_size, uint64_t seed, takt_timing& joining) {
    Random random(seed);
    std::vector<takt::Request> decodes;
    for (uint32_t i = 0; i < kDecodes; ++i)
        decodes.push_back(engine.submit(request(random, vocab_size, kPromptTokens, kMostTokens)));
    // The others are in the queues: only the last one is read before its time.
    Gaps gaps;
    std::vector<uint64_t> last_ready_ns(kDecodes, 0);
    for (uint32_t i = 0; i < kDecodes; ++i) last_ready_ns[i] = decodes[i].next()->raw.ready_ns;
    while (decodes.back().timing().generated_tokens < kTokensBefore) {
        if (decodes.back().wait(5'000'000)) break;
    }
    takt::Request joins = engine.submit(request(random, vocab_size, kJoiningTokens, 1));
    const auto first = joins.next();
    wait_for(joins);
    joining = joins.timing();
    for (takt::Request& decode : decodes) {
        if (decode.wait(0)) throw std::runtime_error("A request ended before the prompt had joined.");
        decode.cancel();
    }
    for (uint32_t i = 0; i < kDecodes; ++i)
        sort_gaps(decodes[i], last_ready_ns[i], joining, first->raw.computed_ns, gaps);
    return gaps;
}

Round measure(const Stack& stack, bool chunks, uint64_t seed) {
    takt::EngineOptions options;
    options.prefix_reuse = false;
    if (!chunks) {
        options.step_gap_ns = TAKT_NO_STEP_GAP;
        options.chunk_tokens = kJoiningTokens + kDecodes;
    }
    StepLog log;
    options.on_step = log.listener();
    Gaps gaps;
    takt_timing joining{};
    {
        takt::Engine engine(stack.model(), options);
        gaps = run(engine, stack.vocab_size(), seed, joining);
    }
    Round round;
    round.median_ns = median(gaps.before);
    round.p99_factor = percentile(gaps.joined, 0.99) / round.median_ns;
    round.max_factor = percentile(gaps.joined, 1) / round.median_ns;
    for (const takt_step& step : log.between(joining.scheduled_ns, UINT64_MAX)) {
        round.n_joined_steps += step.prefill_rows > 0 ? 1 : 0;
        round.n_over_budget += step.prefill_rows > step.prefill_budget ? 1 : 0;
        round.most_rows = std::max<uint64_t>(round.most_rows, step.prefill_rows);
    }
    return round;
}

}  // namespace

void joining_prompt(const Stack& stack) {
    std::vector<double> medians, p99s, most, freezes;
    uint64_t n_over_budget = 0, n_steps = 0, most_rows = 0;
    for (uint32_t round = 0; round < kRounds; ++round) {
        const Round shared = measure(stack, true, round + 1), whole = measure(stack, false, round + 1);
        medians.push_back(shared.median_ns / 1e6);
        p99s.push_back(shared.p99_factor);
        most.push_back(shared.max_factor);
        freezes.push_back(whole.max_factor);
        n_over_budget += shared.n_over_budget;
        n_steps += shared.n_joined_steps;
        most_rows = std::max(most_rows, shared.most_rows);
    }
    Row("joining_prompt")
        .add("median_before_ms", median(medians))
        .add("p99_factor", median(p99s))
        .add("max_factor", median(most))
        .add("freeze_factor", median(freezes))
        .add("steps", n_steps)
        .add("steps_over_budget", n_over_budget)
        .add("most_prompt_rows", most_rows);
}

}  // namespace bench
