// Drafts change when tokens come: how much sooner, beside what costs predict, and what useless ones cost.
#include <map>

#include "scenarios.h"
#include "texts.h"

namespace bench {
namespace {

constexpr uint32_t kCodeTokens = 128, kRewrittenTokens = 400, kUselessTokens = 256;
constexpr uint32_t kUselessAlphabet = 24;  // few enough that pairs of them come again and again
constexpr float kHot = 50, kFar = 5000;    // a draw of equal chances among ids with a bias of kFar

takt::EngineOptions engine_options(const Stack& stack, StepLog* log) {
    takt::EngineOptions options;
    options.max_sequences = 1;
    options.context_tokens = 2048;
    options.prefix_reuse = false;
    if (stack.models.size() > 1) options.draft_model = stack.models[1].get();
    if (log != nullptr) options.on_step = log->listener();
    return options;
}

// Decode of several requests.
struct Total {
    uint64_t n_tokens = 0, n_steps = 0, n_drafted = 0, n_accepted = 0, decode_ns = 0, draft_ns = 0;
    std::map<uint32_t, std::vector<double>> step_ns;  // by rows
    std::vector<std::vector<int32_t>> ids;

    double ns_per_token() const { return static_cast<double>(decode_ns) / static_cast<double>(n_tokens); }
    double part_of_steps(uint64_t count) const {
        return static_cast<double>(count) / static_cast<double>(n_steps);
    }
    void add(const Answer& answer, StepLog& log) {
        const takt_timing& timing = answer.timing;
        n_tokens += answer.ids.size() - 1;
        n_steps += timing.step_gap_ns.count;
        n_drafted += sum(timing.drafted);
        n_accepted += sum(timing.accepted);
        decode_ns += timing.decode_ns;
        draft_ns += timing.draft_ns - answer.early_draft_ns;
        ids.push_back(answer.ids);
        for (const takt_step& step : log.between(timing.first_token_ns, timing.last_token_ns))
            step_ns[step.decode_rows].push_back(static_cast<double>(step.end_ns - step.begin_ns));
    }
    // Each step as long as the median one of its rows.
    double mean_step_ns() const {
        double ns = 0, n = 0;
        for (const auto& [rows, some] : step_ns) {
            ns += median(some) * static_cast<double>(some.size());
            n += static_cast<double>(some.size());
        }
        return ns / n;
    }
};

}  // namespace

void draft_model(const Stack& stack) {
    StepLog log;
    takt::Engine engine(stack.model(), engine_options(stack, &log));
    Total plain, drafted;
    for (uint32_t round = 0; round <= kRounds; ++round) {
        for (const std::string& text : code_texts()) {
            takt::RequestOptions options;
            options.prompt = text;
            options.max_tokens = kCodeTokens;
            options.ignore_eos = true;
            options.drafts = TAKT_DRAFTS_NONE;
            const Answer without = ask(engine, options);
            options.drafts = TAKT_DRAFTS_MODEL;
            const Answer with = ask(engine, options);
            if (round == 0) continue;  // the costs of rows aren't known yet
            plain.add(without, log);
            drafted.add(with, log);
        }
    }
    const double plain_ns = plain.ns_per_token();
    const double c =
        static_cast<double>(drafted.draft_ns) / static_cast<double>(drafted.n_drafted) / plain_ns;
    const double g = drafted.part_of_steps(drafted.n_drafted), v = drafted.mean_step_ns() / plain_ns;
    const double per_step = drafted.part_of_steps(drafted.n_tokens);
    const double predicted = per_step / ((g > 0 ? g * c : 0) + v), faster = plain_ns / drafted.ns_per_token();
    Row("draft_model")
        .add("same_tokens", plain.ids == drafted.ids)
        .add("faster", faster)
        .add("predicted", predicted)
        .add("tokens_per_step", per_step)
        .add("g", g)
        .add("c", c)
        .add("v", v)
        .add("accepted", static_cast<double>(drafted.n_accepted) / static_cast<double>(drafted.n_drafted))
        .add("plain_ms", plain_ns / 1e6);
}

void ngram_rewrite(const Stack& stack) {
    takt::Engine engine(stack.model(), engine_options(stack, nullptr));
    takt::RequestOptions options;
    options.prompt = stack.model().render_chat(rewrite_chat());
    options.prompt_flags = TAKT_ADD_SPECIAL | TAKT_PARSE_SPECIAL;
    options.max_tokens = kRewrittenTokens;
    std::vector<double> factors;
    bool same = true;
    Answer with{}, without{};
    for (uint32_t round = 0; round <= kRounds; ++round) {
        options.drafts = TAKT_DRAFTS_NONE;
        without = ask(engine, options);
        options.drafts = TAKT_DRAFTS_NGRAM;
        with = ask(engine, options);
        same = same && with.ids == without.ids;
        if (round > 0) factors.push_back(without.timing.tpot_ns / with.timing.tpot_ns);
    }
    Row("ngram_rewrite")
        .add("same_tokens", same)
        .add("faster", median(factors))
        .add("tokens", with.timing.generated_tokens)
        .add("drafted", sum(with.timing.drafted))
        .add("accepted", sum(with.timing.accepted));
}

namespace {

// Random text: of all ids for the draft model, which draws with the same numbers, and of a few for the
// n-grams, which find pairs of those everywhere.
takt::RequestOptions unguessable(const Stack& stack, uint32_t drafts, uint32_t round) {
    Random random(round + 1);
    takt::RequestOptions options;
    options.temperature = kHot;
    options.max_tokens = kUselessTokens;
    options.ignore_eos = true;
    options.seed = round;
    options.drafts = drafts;
    options.prompt_ids = random.ids(kUselessTokens, stack.vocab_size());
    if (drafts != TAKT_DRAFTS_NGRAM) return options;
    const std::vector<int32_t> alphabet = random.ids(kUselessAlphabet, 20'000);
    for (const int32_t id : alphabet) options.logit_bias.emplace_back(id, kFar);
    for (int32_t& id : options.prompt_ids) id = alphabet[random.between(0, kUselessAlphabet - 1)];
    return options;
}

}  // namespace

void useless_drafts(const Stack& stack) {
    takt::Engine engine(stack.model(), engine_options(stack, nullptr));
    for (const uint32_t drafts : {uint32_t{TAKT_DRAFTS_NGRAM}, uint32_t{TAKT_DRAFTS_MODEL}}) {
        std::vector<double> factors, whole;
        uint64_t n_drafted = 0, n_accepted = 0;
        bool same = true;
        for (uint32_t round = 0; round <= kRounds; ++round) {
            takt::RequestOptions options = unguessable(stack, drafts, round);
            const Answer with = ask(engine, options);
            options.drafts = TAKT_DRAFTS_NONE;
            const Answer without = ask(engine, options);
            same = same && with.ids == without.ids;
            if (round == 0) continue;
            factors.push_back(with.timing.tpot_ns / without.timing.tpot_ns);
            whole.push_back(static_cast<double>(with.timing.e2e_ns) /
                            static_cast<double>(without.timing.e2e_ns));
            n_drafted += sum(with.timing.drafted);
            n_accepted += sum(with.timing.accepted);
        }
        Row(drafts == TAKT_DRAFTS_NGRAM ? "useless_ngrams" : "useless_draft_model")
            .add("same_tokens", same)
            .add("slower", median(factors))
            .add("slower_with_prefill", median(whole))
            .add("drafted", n_drafted)
            .add("accepted", n_accepted);
    }
}

}  // namespace bench
