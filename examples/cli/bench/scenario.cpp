// Flags and defaults; an engine with room for the traffic.
#include "bench/scenario.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "bench/issue.h"
#include "bench/rate_plot.h"
#include "bench/scenario_report.h"
#include "bench/side.h"
#include "bench/workload.h"
#include "failure.h"
#include "load.h"
#include "numbers/traffic.h"
#include "system.h"
#include "slo_option.h"

namespace cli {
namespace {

constexpr uint64_t kRequests = 64;
constexpr const char* kLengths = "778/73";  // Llama 3.1 8B's mean in MLPerf

bool is_any_of(const std::string& name, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

uint64_t nanoseconds(double ms) {
    return static_cast<uint64_t>(std::llround(ms * 1e6));
}

// The scenario's own, a preset, and single bounds on top of either.
void set_objectives(const ScenarioOptions& options, ScenarioRun& run) {
    run.slo_name = options.slo_name;
    if (run.slo_name.empty() && is_any_of(options.name, {"server", "interactive"}))
        run.slo_name = "mlperf-llama3.1-8b-" + options.name;
    if (!run.slo_name.empty()) run.slo = slo_of_preset(run.slo_name);
    bool changed = false;
    const auto set = [&](const std::optional<double>& ms, uint64_t& bound_ns) {
        if (!ms) return;
        bound_ns = nanoseconds(*ms);
        changed = true;
    };
    set(options.ttft_ms, run.slo.ttft_ns);
    set(options.tpot_ms, run.slo.tpot_ns);
    set(options.itl_ms, run.slo.itl_ns);
    set(options.e2e_ms, run.slo.e2e_ns);
    if (changed) run.slo_name += run.slo_name.empty() ? "given" : ", changed";
}

uint32_t sequences_of(const BenchOptions& options) {
    if (options.sequences_given) return options.sequences.front();
    if (options.scenario.name == "single-stream") return 1;
    return options.scenario.name == "multi-stream" ? 8 : 16;
}

ScenarioRun make_run(const BenchOptions& options) {
    const ScenarioOptions& scenario = options.scenario;
    ScenarioRun run;
    run.scenario = scenario.name;
    run.lengths = scenario.lengths;
    if (run.lengths.empty()) {
        run.lengths = options.lengths_given
                          ? fmt::format("{}/{}", options.prompt_tokens.front(), options.decode_tokens.front())
                          : kLengths;
    }
    set_objectives(scenario, run);
    run.smooth = scenario.smooth;
    run.smooth.origin =
        scenario.smooth_origin == "arrival" ? DeadlineOrigin::arrival : DeadlineOrigin::first_token;
    run.rule = *percentile_rule(scenario.percentile_rule);
    run.rate = scenario.rate;
    run.seed = scenario.seed;
    run.sequences = sequences_of(options);
    return run;
}

void check(const BenchOptions& options) {
    const ScenarioOptions& scenario = options.scenario;
    const bool timed = is_any_of(scenario.name, {"server", "interactive"});
    if (timed && scenario.rate <= 0)
        throw WrongUsage(fmt::format("--scenario {} needs --rate, the requests a second.", scenario.name));
    if (!timed && scenario.rate != 0)
        throw WrongUsage(fmt::format("--scenario {} has no --rate.", scenario.name));
    if (scenario.name == "offline" && scenario.duration_s != 0)
        throw WrongUsage("--scenario offline issues all --requests at once and has no --duration.");
    if (options.sequences.size() > 1 || options.prompt_tokens.size() > 1 ||
        options.decode_tokens.size() > 1 || thread_items(options.side).size() > 1)
        throw WrongUsage("A scenario takes one value of -p, -n, -b and -t.");
    if (options.sequences.front() == 0) throw WrongUsage("-b is at least 1.");
    if (options.lengths_given && (options.prompt_tokens.front() == 0 || options.decode_tokens.front() == 0))
        throw WrongUsage("-p and -n of a scenario are at least 1.");
    if (!options.output.empty() || options.versus || !options.versus_output.empty())
        throw WrongUsage("-o and --versus are for rates; a scenario's result is printed.");
    if (options.csv || options.markdown || options.roofline || options.ops)
        throw WrongUsage("A scenario is printed as text or with --json.");
}

takt::EngineOptions engine_settings(const Side& side, const ScenarioRun& run, uint32_t context_tokens,
                                    uint64_t n_requests) {
    takt::EngineOptions settings = engine_options(side.options().common);
    settings.context_tokens = context_tokens;
    settings.max_sequences = run.sequences;
    settings.chunk_tokens = side.options().chunk;  // 0: the engine's choice
    settings.max_waiting =
        static_cast<uint32_t>(std::min<uint64_t>(std::max<uint64_t>(4096, n_requests), UINT32_MAX));
    if (side.options().common.memory_limit_bytes == 0)
        settings.kv_tokens = uint64_t{context_tokens} * run.sequences;
    if (side.options().slowdown_percent > 0)
        settings.on_step = slowdown(side.runtime(), side.options().slowdown_percent);
    return settings;
}

}  // namespace

// Their times are kept until the report.
constexpr uint64_t kMostRequests = 10'000'000;

int run_scenario(const BenchOptions& options) {
    check(options);
    const ScenarioOptions& scenario = options.scenario;
    ScenarioRun run = make_run(options);
    const uint64_t n_least =
        scenario.requests != 0 ? scenario.requests : (scenario.duration_s > 0 ? 1 : kRequests);
    if (n_least > kMostRequests)
        throw WrongUsage(fmt::format("--requests is {}, must be 1 to {}.", n_least, kMostRequests));
    if (scenario.rate > 0 && scenario.rate * scenario.duration_s > static_cast<double>(kMostRequests)) {
        throw WrongUsage(fmt::format(
            "--rate {:g} for --duration {:g} are {:.3g} requests, at most {} are issued.", scenario.rate,
            scenario.duration_s, scenario.rate * scenario.duration_s, kMostRequests));
    }
    std::vector<double> arrivals;
    if (scenario.rate > 0) arrivals = poisson_arrivals(scenario.rate, n_least, scenario.duration_s, run.seed);
    if (scenario.name == "offline") arrivals.assign(n_least, 0.0);

    const std::vector<std::string> threads = thread_items(options.side);
    Side side(options.side, threads);
    const ThreadCounts counts = side.counts(threads.front());
    side.use(counts);
    Workload workload(run.lengths, side.model(), run.seed);
    const takt::EngineOptions settings =
        engine_settings(side, run, workload.context_tokens(), arrivals.size());
    takt::Engine engine(side.model(), settings);
    Issuer issuer(side.runtime(), engine, workload);
    issuer.warm_up();
    if (!arrivals.empty()) {
        run.records = issuer.at_times(arrivals);
    } else {
        const uint32_t per_query = scenario.name == "multi-stream" ? run.sequences : 1;
        const uint64_t n_queries = (n_least + per_query - 1) / per_query;
        run.records = issuer.in_turn(n_queries, scenario.duration_s, per_query);
    }

    Json report = scenario_json(run);
    const takt_engine_statistics statistics = engine.statistics();
    report["preemptions"] = statistics.n_preemptions;
    report.update(
        conditions_json(side.runtime(), side.model(), options.side.common, options.side.common.backend));
    report["threads"] = counts.decode;
    report["chunk_tokens"] = side.model().plan(settings).chunk_tokens;
    report["context_tokens"] = engine.context_tokens();
    report["page_tokens"] = statistics.page_tokens;
    report["slowdown_percent"] = options.side.slowdown_percent;
    report["warm"] = true;
    write_stdout(options.side.common.json ? json_line(report) : scenario_text(report));
    if (!options.plot.empty()) {
        const auto text = [&](const char* key) { return report.at(key).get<std::string>(); };
        write_plot(options.plot, scenario_svg(run, fmt::format("{}, {}: {} on {} ({}), {}", run.scenario,
                                                               run.lengths, text("model_name"),
                                                               text("backend"), text("isa"), text("cpu"))));
    }
    return 0;
}

void add_scenario(CLI::App& app, ScenarioOptions& options) {
    app.option_defaults()->group("Scenarios");
    const CLI::Validator positive = real_number(1e-6, 1e9);
    app.add_option("--scenario", options.name,
                   "Requests instead of rates: single-stream, one after another; multi-stream, -b at once; "
                   "server, Poisson arrivals at --rate; interactive, the same with tighter bounds; offline, "
                   "all at once")
        ->check(CLI::IsMember({"single-stream", "multi-stream", "server", "offline", "interactive"}));
    add_number(app, "--requests", options.requests,
               "At least so many; default: 64, or as many as --duration has");
    app.add_option("--duration", options.duration_s, "Seconds to issue requests for, at least")
        ->check(positive);
    app.add_option("--rate", options.rate, "Requests a second")->check(positive);
    add_number(app, "--seed", options.seed, "Of arrivals, lengths and made-up prompts")
        ->capture_default_str();
    app.add_option(
        "--lengths", options.lengths,
        "Tokens of prompt and answer: 778/73, 50-800 for both, P1-P2/N1-N2 drawn evenly, or a file "
        "of JSON lines with output_tokens and prompt_tokens or prompt; default: -p and -n, or "
        "778/73");
    app.add_option("--slo", options.slo_name, "Bounds by the name of a preset");
    const auto bound = [&](const char* flag, std::optional<double>& target, const char* words) {
        app.add_option(flag, target, words)->check(positive);
    };
    bound("--slo-ttft", options.ttft_ms, "Bound of the time to the first token in ms");
    bound("--slo-tpot", options.tpot_ms, "Bound of the mean time of a further token in ms");
    bound("--slo-itl", options.itl_ms, "Bound of the longest time between two tokens in ms");
    bound("--slo-e2e", options.e2e_ms, "Bound of the whole request in ms");
    app.add_option("--percentile-rule", options.percentile_rule, "Of the percentiles")
        ->check(CLI::IsMember({"nearest_rank", "loadgen", "linear"}))
        ->capture_default_str();
    app.add_option("--smooth-v", options.smooth.seconds_per_token,
                   "Smooth goodput: seconds in which the user reads a token")
        ->check(positive)
        ->capture_default_str();
    app.add_option("--smooth-alpha", options.smooth.tokens_per_second,
                   "Smooth goodput: tokens that a second of waiting costs")
        ->check(real_number(0, 1e9))
        ->capture_default_str();
    app.add_option("--smooth-origin", options.smooth_origin,
                   "Smooth goodput: where deadlines are counted from")
        ->check(CLI::IsMember({"arrival", "first_token"}))
        ->capture_default_str();
    app.add_flag("--floor-zero", options.smooth.floor_zero, "Smooth goodput: no request counts below 0");
}

}  // namespace cli
