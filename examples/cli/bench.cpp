// takt bench: prefill and decode rates through the request API, with the conditions they were measured under.
#include "bench.h"
#include "bench_profile.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "commands.h"
#include "failure.h"
#include "load.h"
#include "numbers/statistics.h"
#include "report.h"
#include "system.h"

namespace cli {
namespace {

constexpr uint32_t kDefaultChunk = 512;

struct BenchOptions {
    CommonOptions common;
    BenchShape shape{512, 128, 0, 1};
    uint32_t repetitions = 5, chunk = 0;
    bool csv = false, markdown = false, roofline = false, ops = false;
};

struct TestResult {
    BenchTest test = BenchTest::prefill;
    uint32_t tokens = 0, depth = 0, sequences = 1;
    std::vector<double> rates;
    std::optional<TokenCost> cost;  // with --roofline
};

const char* name_of(BenchTest test) {
    return test == BenchTest::prefill ? "prefill" : "decode";
}

std::vector<TestResult> measure(takt::Engine& engine, const BenchOptions& options, uint32_t vocab_size,
                                uint32_t chunk) {
    const BenchShape& shape = options.shape;
    TestResult prefill{BenchTest::prefill, shape.prompt_tokens, shape.depth, shape.sequences, {}, {}};
    TestResult decode{
        BenchTest::decode, shape.decode_tokens, shape.depth + shape.prompt_tokens, shape.sequences, {}, {}};
    for (uint32_t round = 0; round <= options.repetitions; ++round) {
        const BenchRound result = measure_round(engine, shape, vocab_size, chunk, round);
        if (round == 0) continue;  // warm-up
        if (result.prefill_per_second) prefill.rates.push_back(*result.prefill_per_second);
        if (result.decode_per_second) decode.rates.push_back(*result.decode_per_second);
    }
    std::vector<TestResult> results;
    for (TestResult& result : std::vector<TestResult>{std::move(prefill), std::move(decode)}) {
        if (!result.rates.empty()) results.push_back(std::move(result));
    }
    return results;
}

Json result_json(const TestResult& result, const MachineLimits& limits, const Json& conditions) {
    Json json;
    json["test"] = name_of(result.test);
    json["tokens"] = result.tokens;
    json["depth"] = result.depth;
    json["sequences"] = result.sequences;
    json["tokens_per_second"] = result.rates;
    json["median"] = median(result.rates);
    if (result.cost) json.update(roofline_json(*result.cost, limits, median(result.rates)));
    json.update(conditions);
    return json;
}

std::string table(const std::vector<TestResult>& results, const std::string& title,
                  const std::string& separator, bool markdown) {
    const auto row = [&](std::initializer_list<std::string> cells) {
        std::string line;
        for (const std::string& cell : cells) line += (line.empty() ? "" : separator) + cell;
        return (markdown ? "| " + line + " |" : line) + "\n";
    };
    std::string text = markdown ? title + "\n\n" : "";
    text += row({"test", "tokens", "depth", "sequences", "median_tokens_per_second", "min", "max"});
    if (markdown) text += "|---|---|---|---|---|---|---|\n";
    for (const TestResult& r : results) {
        const auto [low, high] = std::minmax_element(r.rates.begin(), r.rates.end());
        text += row({name_of(r.test), fmt::to_string(r.tokens), fmt::to_string(r.depth),
                     fmt::to_string(r.sequences), fmt::format("{:.2f}", median(r.rates)),
                     fmt::format("{:.2f}", *low), fmt::format("{:.2f}", *high)});
    }
    return text;
}

std::string text_for_people(const std::vector<TestResult>& results, const MachineLimits& limits,
                            const std::string& title) {
    std::string text = title + "\n";
    for (const TestResult& r : results) {
        const auto [low, high] = std::minmax_element(r.rates.begin(), r.rates.end());
        text += fmt::format(
            "{:<8} {:>6} tokens at depth {:>6}, {} sequences: {:>10.2f} tokens/s ({:.2f} to {:.2f}, {} "
            "repetitions)\n",
            name_of(r.test), r.tokens, r.depth, r.sequences, median(r.rates), *low, *high, r.rates.size());
        if (r.cost) text += roofline_text(*r.cost, limits, median(r.rates));
    }
    return text;
}

void print(const BenchOptions& options, const std::vector<TestResult>& results, const MachineLimits& limits,
           const Json& conditions) {
    const auto text = [&](const char* key) { return conditions.at(key).get<std::string>(); };
    const std::string title = fmt::format("{} on {} ({}), {} threads, {}", text("model"), text("backend"),
                                          text("isa"), conditions.at("threads").get<uint32_t>(), text("cpu"));
    if (options.common.json) {
        for (const TestResult& result : results)
            write_stdout(json_line(result_json(result, limits, conditions)));
    } else if (options.csv) {
        write_stdout(table(results, title, ",", false));
    } else if (options.markdown) {
        write_stdout(table(results, title, " | ", true));
    } else {
        write_stdout(text_for_people(results, limits, title));
    }
}

// Where the time of one step of each test goes.
void print_ops(const BenchOptions& options, const takt::Model& model, uint32_t chunk,
               const Json& conditions) {
    for (const BenchTest test : {BenchTest::prefill, BenchTest::decode}) {
        const uint32_t tokens =
            test == BenchTest::prefill ? options.shape.prompt_tokens : options.shape.decode_tokens;
        if (tokens == 0) continue;
        Json profile = profile_ops(model, options.common, options.shape, test, chunk, options.repetitions);
        if (!options.common.json) {
            write_stdout(ops_text(profile, test));
            continue;
        }
        Json json;
        json["test"] = std::string(name_of(test)) + " ops";
        json.update(profile);
        json.update(conditions);
        write_stdout(json_line(json));
    }
}

void check(const BenchOptions& options) {
    const BenchShape& shape = options.shape;
    if (shape.prompt_tokens == 0 && shape.decode_tokens == 0)
        throw WrongUsage("-p and -n are both 0: there is nothing to measure.");
    if (shape.sequences == 0 || options.repetitions == 0) throw WrongUsage("-b and -r are at least 1.");
    if (int{options.common.json} + int{options.csv} + int{options.markdown} > 1)
        throw WrongUsage("bench prints one of --json, --csv, --markdown.");
    if (options.roofline && (options.csv || options.markdown))
        throw WrongUsage("--roofline is printed as text or with --json.");
    if (options.ops && (options.csv || options.markdown))
        throw WrongUsage("--ops is printed as text or with --json.");
}

int run(const BenchOptions& options) {
    check(options);
    const BenchShape& shape = options.shape;
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common);
    const uint32_t chunk = options.chunk != 0 ? options.chunk : kDefaultChunk;
    takt::EngineOptions settings = engine_options(options.common);
    settings.prefix_reuse = false;  // every repetition computes its prompt
    settings.step_gap_ns = TAKT_NO_STEP_GAP;
    settings.context_tokens = context_tokens(shape, chunk);
    settings.max_sequences = shape.sequences;
    settings.chunk_tokens = chunk;
    settings.kv_tokens = uint64_t{settings.context_tokens} * shape.sequences;
    takt::Engine engine(model, settings);
    std::vector<TestResult> results = measure(engine, options, model.info().vocab_size, chunk);
    Json conditions = conditions_json(runtime, model, options.common, options.common.backend);
    conditions["chunk_tokens"] = chunk;
    conditions["context_tokens"] = settings.context_tokens;
    conditions["warm"] = true;
    MachineLimits limits;
    if (options.roofline) {
        limits = measure_limits(model, options.common, shape);
        for (TestResult& result : results)
            result.cost = token_cost(model, options.common, shape, result.test, chunk);
    }
    print(options, results, limits, conditions);
    if (options.ops) print_ops(options, model, chunk, conditions);
    return 0;
}

}  // namespace

Command add_bench(CLI::App& app) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* command = app.add_subcommand("bench", "Prefill and decode rates, after a warm-up of each");
    add_common(*command, options->common);
    add_number(*command, "-p", options->shape.prompt_tokens, "Prompt tokens; 0: no prefill test")
        ->capture_default_str();
    add_number(*command, "-n", options->shape.decode_tokens, "Tokens to decode; 0: no decode test")
        ->capture_default_str();
    add_number(*command, "-d,--depth", options->shape.depth, "Tokens in front of the prompt")
        ->capture_default_str();
    add_number(*command, "-b,--sequences", options->shape.sequences, "Sequences at once")
        ->capture_default_str();
    add_number(*command, "-r,--repetitions", options->repetitions, "Measured repetitions")
        ->capture_default_str();
    add_number(*command, "--chunk", options->chunk, "Rows of one step; default 512");
    command->add_flag("--roofline", options->roofline,
                      "Bytes and operations a token, and their share of what this machine reaches");
    command->add_flag("--ops", options->ops, "Where the time of one step goes, beside oneDNN's products");
    command->add_flag("--csv", options->csv, "Comma separated");
    command->add_flag("--markdown", options->markdown, "A Markdown table");
    return {command, [options] { return run(*options); }};
}

}  // namespace cli
