// takt bench: flags, and which of its three jobs is asked for: rates, a scenario, or a comparison of files.
#include <memory>

#include "bench/compare.h"
#include "bench/bench_options.h"
#include "bench/rates.h"
#include "bench/scenario.h"
#include "commands.h"
#include "failure.h"

namespace cli {
namespace {

void add_rates(CLI::App& app, BenchOptions& options) {
    add_number_list(app, "-p", options.prompt_tokens, "Prompt tokens; 0: no prefill test");
    add_number_list(app, "-n", options.decode_tokens, "Tokens to decode; 0: no decode test");
    add_number_list(app, "-d,--depth", options.depths, "Tokens in front of the prompt");
    add_number_list(app, "-b,--sequences", options.sequences, "Sequences at once");
    add_number(app, "-r,--repetitions", options.repetitions, "Measured repetitions")->capture_default_str();
    app.add_flag("--roofline", options.roofline,
                 "Bytes and operations a token, and their share of what this machine reaches");
    app.add_flag("--ops", options.ops, "Where the time of one step goes, beside oneDNN's products");
    app.add_flag("--csv", options.csv, "Comma separated");
    app.add_flag("--markdown", options.markdown, "A Markdown table");
    app.add_option("-o,--output", options.output,
                   "File of JSON lines: results are appended as they come, those that it has aren't measured "
                   "again");
    app.add_option("--plot", options.plot, "SVG file of the results");
}

void add_comparisons(CLI::App& app, BenchOptions& options) {
    app.option_defaults()->group("Comparisons");
    app.add_option("--versus", options.versus,
                   "Measure the same tests with these options changed too, turn about, and compare: \"--kv "
                   "q8_0\"; of -m -t --backend --isa --kv --page-tokens --chunk --deterministic --slowdown");
    app.add_option("--versus-output", options.versus_output, "As -o, for the results of --versus");
    app.add_option("--compare", options.compare, "Compare two files of results; needs no model")->expected(2);
    app.add_option("--least", options.least_percent, "A change of fewer percent than this is no difference")
        ->check(real_number(0, 100))
        ->capture_default_str();
    app.add_option("--confidence", options.confidence, "Of a verdict")
        ->check(real_number(0.5, 0.9999))
        ->capture_default_str();
}

int run(const BenchOptions& options) {
    if (!options.compare.empty()) return run_compare(options);
    if (options.side.common.model.empty()) throw WrongUsage("--model is required.");
    return options.scenario.name.empty() ? run_rates(options) : run_scenario(options);
}

}  // namespace

Command add_bench(CLI::App& app) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* command =
        app.add_subcommand("bench", "Rates, request scenarios, and comparisons of what was measured");
    add_side(*command, options->side, NeedsModel::no);
    add_rates(*command, *options);
    add_comparisons(*command, *options);
    add_scenario(*command, options->scenario);
    return {command, [options, command] {
                options->sequences_given = command->count("-b") > 0;
                options->lengths_given = command->count("-p") + command->count("-n") > 0;
                return run(*options);
            }};
}

}  // namespace cli
