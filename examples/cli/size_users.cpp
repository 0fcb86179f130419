// takt size users: how many requests a second, and users, an engine serves within an SLO. The engine itself
// runs in simulated time over the step costs of a bench file.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>

#include <fmt/format.h>

#include "failure.h"
#include "load.h"
#include "numbers/measured_steps.h"
#include "numbers/percentiles.h"
#include "numbers/slo.h"
#include "numbers/traffic.h"
#include "size.h"
#include "system.h"

namespace cli {
namespace {

constexpr double kMostMilliseconds = 1e9, kMostRate = 1e6, kMostSeconds = 1e6;
constexpr uint64_t kMostRequests = 1'000'000;
constexpr double kSearchedTo = 1.01;  // the rate that is found, beside one that fails
constexpr double kSlowest = 1e-4;     // times the rate of one request after another

struct UsersOptions {
    CommonOptions common;
    std::string bench, lengths = "512/128", preset;
    double ttft_ms = 0, tpot_ms = 0, itl_ms = 0, e2e_ms = 0;
    std::optional<double> rate, think;
    double target = 0.99;
    uint64_t requests = 1000, seed = 1, step_gap_us = 0, kv_tokens = 0;
    uint32_t sequences = 16, chunk = 0, context = 0;
};

uint64_t to_ns(double milliseconds) {
    return static_cast<uint64_t>(std::llround(milliseconds * 1e6));
}

Slo read_slo(const UsersOptions& options) {
    Slo slo;
    if (!options.preset.empty()) {
        const std::optional<Slo> preset = slo_preset(options.preset);
        if (!preset) throw WrongUsage(fmt::format("--slo: there is no preset \"{}\".", options.preset));
        slo = *preset;
    }
    if (options.ttft_ms > 0) slo.ttft_ns = to_ns(options.ttft_ms);
    if (options.tpot_ms > 0) slo.tpot_ns = to_ns(options.tpot_ms);
    if (options.itl_ms > 0) slo.itl_ns = to_ns(options.itl_ms);
    if (options.e2e_ms > 0) slo.e2e_ns = to_ns(options.e2e_ms);
    if (!slo.any())
        throw WrongUsage("users needs a bound: --slo-ttft, --slo-tpot, --slo-itl, --slo-e2e or --slo.");
    return slo;
}

std::vector<takt_step_cost> to_c(const std::vector<MeasuredStep>& steps) {
    std::vector<takt_step_cost> costs;
    for (const MeasuredStep& step : steps) costs.push_back({step.step_ns, step.n_rows, 0});
    return costs;
}

takt::StepCosts read_costs(const std::string& path, const takt::Model& model) {
    std::vector<BenchLine> lines;
    try {
        lines = parse_bench_lines(read_file(path));
    } catch (const std::runtime_error& error) {
        throw Failure(fmt::format("{}: {}", path, error.what()));
    }
    const auto is_decode = [](const BenchLine& line) { return line.decode; };
    if (std::ranges::none_of(lines, is_decode)) throw Failure(fmt::format("{} has no decode test.", path));
    const StepTables tables = fit_steps(lines);
    if (tables.prefill.empty()) throw Failure(fmt::format("{} has no prefill test of one sequence.", path));
    const std::string own = fmt::format("{:016x}", model.info().fingerprint);
    const std::string& measured = lines.front().fingerprint;
    if (!measured.empty() && measured != own)
        throw Failure(fmt::format("{} was measured with another model: its fingerprint is {}, that of -m {}.",
                                  path, measured, own));
    return {to_c(tables.decode), to_c(tables.prefill), tables.decode_position_ns, tables.prefill_position_ns};
}

struct Outcome {
    double rate = 0;
    std::vector<RequestTimes> requests;
    uint64_t n_refused = 0;
    double seconds = 0;  // from the first arrival to the last end
    Attainment attained;
};

class Load {
public:
    Load(const takt::Model& model, const UsersOptions& options)
        : model_(model),
          options_(options),
          slo_(read_slo(options)),
          costs_(read_costs(options.bench, model)) {
        const std::optional<LengthMix> mix = parse_length_mix(options.lengths);
        if (!mix)
            throw WrongUsage(
                fmt::format("--lengths: \"{}\" is no P/N or P1-P2/N1-N2 of tokens.", options.lengths));
        std::mt19937_64 random(options.seed + 1);
        for (uint64_t i = 0; i < options.requests; ++i) lengths_.push_back(draw(*mix, random));
        engine_ = engine_options(options.common);
        engine_.max_sequences = options.sequences;
        engine_.chunk_tokens = options.chunk;
        engine_.context_tokens = options.context;
        engine_.kv_tokens = options.kv_tokens;
        engine_.step_gap_ns = options.step_gap_us * 1000;
    }

    // The same requests at every rate, only nearer to each other.
    Outcome at(double rate) const {
        check_interrupted();
        const std::vector<double> arrivals = poisson_arrivals(rate, lengths_.size(), 0, options_.seed);
        std::vector<takt_simulated_request> requests;
        for (std::size_t i = 0; i < lengths_.size(); ++i)
            requests.push_back({static_cast<uint64_t>(std::llround(arrivals[i] * 1e9)),
                                lengths_[i].prompt_tokens, lengths_[i].output_tokens});
        return run(rate, requests);
    }
    // One after another: nothing waits.
    double slowest_rate() const {
        uint64_t ns = 0;
        const takt_simulated_request alone{0, lengths_.front().prompt_tokens, lengths_.front().output_tokens};
        model_.simulate(engine_, costs_, {alone}, [&](std::size_t, const takt_timing& timing) {
            ns = timing.e2e_ns;
            return true;
        });
        return kSlowest * 1e9 / static_cast<double>(ns);
    }
    const Slo& slo() const { return slo_; }
    const takt::StepCosts& costs() const { return costs_; }

private:
    Outcome run(double rate, const std::vector<takt_simulated_request>& requests) const {
        Outcome outcome;
        outcome.rate = rate;
        uint64_t last_ns = 0;
        model_.simulate(engine_, costs_, requests, [&](std::size_t, const takt_timing& timing) {
            RequestTimes times;
            if (timing.finish_reason == TAKT_FINISH_ERROR) {
                times.end = RequestEnd::failed;
                ++outcome.n_refused;
            }
            if (timing.ttft_ns != TAKT_UNDEFINED_NS) times.ttft_ns = static_cast<double>(timing.ttft_ns);
            if (!std::isnan(timing.tpot_ns)) times.tpot_ns = timing.tpot_ns;
            if (timing.itl_ns.count > 0) times.longest_itl_ns = timing.itl_ns.max;
            times.e2e_ns = static_cast<double>(timing.e2e_ns);
            times.n_tokens = timing.generated_tokens;
            outcome.requests.push_back(times);
            last_ns = std::max(last_ns, timing.finished_ns);
            return !interrupted();
        });
        outcome.seconds = static_cast<double>(last_ns - requests.front().arrival_ns) / 1e9;
        outcome.attained = attainment(outcome.requests, slo_);
        return outcome;
    }

    const takt::Model& model_;
    const UsersOptions& options_;
    const Slo slo_;
    const takt::StepCosts costs_;
    std::vector<Lengths> lengths_;
    takt::EngineOptions engine_;
};

// The largest rate whose attainment reaches the target, within a percent; nothing if even the slowest misses.
std::optional<Outcome> search(const Load& load, double target) {
    const auto reaches = [target](const Outcome& outcome) {
        return outcome.attained.share().value_or(0) >= target;
    };
    double low = load.slowest_rate(), high = low;
    Outcome best = load.at(low);
    if (!reaches(best)) return std::nullopt;
    while (high < kMostRate) {
        high = std::min(2 * high, kMostRate);
        Outcome tried = load.at(high);
        if (!reaches(tried)) break;
        low = high;
        best = std::move(tried);
    }
    while (high / low > kSearchedTo) {
        const double middle = std::sqrt(low * high);
        Outcome tried = load.at(middle);
        if (reaches(tried)) {
            low = middle;
            best = std::move(tried);
        } else {
            high = middle;
        }
    }
    return best;
}

// A refused request has an infinite time, so that percentiles don't get better by refusing.
void add_percentiles(SizeAnswer& answer, const char* name, const Outcome& outcome,
                     const std::function<std::optional<double>(const RequestTimes&)>& time_of) {
    std::vector<double> sorted;
    for (const RequestTimes& request : outcome.requests) {
        if (request.end == RequestEnd::failed)
            sorted.push_back(std::numeric_limits<double>::infinity());
        else if (const std::optional<double> ns = time_of(request))
            sorted.push_back(*ns / 1e6);
    }
    std::ranges::sort(sorted);
    for (const auto& [quantile, p] : {std::pair("p50", 0.5), {"p95", 0.95}, {"p99", 0.99}}) {
        const double value = percentile(sorted, p, PercentileRule::nearest_rank);
        answer.add(
            fmt::format("{}_{}_ms", name, quantile), value,
            fmt::format("n = {}{}", sorted.size(), p > 0.98 && sorted.size() < 100 ? ", n < 100" : ""));
    }
}

double mean_e2e_seconds(const Outcome& outcome) {
    double sum = 0;
    uint64_t n = 0;
    for (const RequestTimes& request : outcome.requests) {
        if (request.end != RequestEnd::completed) continue;
        sum += request.e2e_ns, ++n;
    }
    return sum / static_cast<double>(n) / 1e9;
}

void report(const UsersOptions& options, const Outcome& outcome) {
    const Attainment& attained = outcome.attained;
    const Interval bounds = wilson_95(attained.n_good, attained.n_judged);
    double tokens = 0;
    for (const RequestTimes& request : outcome.requests) tokens += static_cast<double>(request.n_tokens);
    SizeAnswer answer;
    answer
        .add("requests_per_second", outcome.rate,
             options.rate ? "as given; Poisson arrivals" : "the most within the target; Poisson arrivals")
        .add("attainment", attained.share(),
             fmt::format("{} of {} requests", attained.n_good, attained.n_judged))
        .add("attainment_low", bounds.low, "Wilson, 95 %")
        .add("attainment_high", bounds.high, "Wilson, 95 %")
        .add("target", options.target)
        .add_text("meets_target", attained.share().value_or(0) >= options.target ? "yes" : "no");
    const double e2e = mean_e2e_seconds(outcome), think = options.think.value_or(0);
    answer.add("users", outcome.rate * (e2e + think),
               fmt::format("rate x (mean E2E of {:.3g} s + {:g} s to think)", e2e, think));
    add_percentiles(answer, "ttft", outcome, [](const RequestTimes& r) { return r.ttft_ns; });
    add_percentiles(answer, "tpot", outcome, [](const RequestTimes& r) { return r.tpot_ns; });
    add_percentiles(answer, "e2e", outcome, [](const RequestTimes& r) { return std::optional(r.e2e_ns); });
    answer.add("output_tokens_per_second", tokens / outcome.seconds)
        .add("slo_output_tokens_per_second", static_cast<double>(attained.good_tokens) / outcome.seconds,
             "of requests that met their SLO")
        .add_count("refused", outcome.n_refused, "found the queue full: misses, and infinite times")
        .add_count("seed", options.seed)
        .print(options.common.json);
}

int users(const UsersOptions& options) {
    if (options.requests == 0 || options.requests > kMostRequests)
        throw WrongUsage(fmt::format("--requests is {}, must be 1 to {}.", options.requests, kMostRequests));
    if (options.sequences == 0) throw WrongUsage("--sequences is at least 1.");
    read_slo(options);  // before a file is read
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common, LoadWeights::no);
    const Load load(model, options);
    if (options.rate) {
        report(options, load.at(*options.rate));
        return 0;
    }
    const std::optional<Outcome> best = search(load, options.target);
    if (!best)
        throw Failure(
            fmt::format("No rate reaches an attainment of {:g}: {:.4g} of the requests meet the bounds even "
                        "where each is alone.",
                        options.target, load.at(load.slowest_rate()).attained.share().value_or(0)));
    report(options, *best);
    return 0;
}

}  // namespace

Command add_size_users(CLI::App& size) {
    auto options = std::make_shared<UsersOptions>();
    CLI::App* command =
        size.add_subcommand("users", "Requests a second, and users, within an SLO: simulated");
    add_common(*command, options->common);
    command->add_option("--bench", options->bench, "Lines of takt bench --json of this model")->required();
    const auto bound = [&](const char* flag, double& target, const char* description) {
        add_amount(*command, flag, target, description, Least::above_zero, kMostMilliseconds);
    };
    bound("--slo-ttft", options->ttft_ms, "Milliseconds to the first token at most");
    bound("--slo-tpot", options->tpot_ms, "Milliseconds a token after the first at most");
    bound("--slo-itl", options->itl_ms, "Milliseconds between two tokens at most");
    bound("--slo-e2e", options->e2e_ms, "Milliseconds of a request at most");
    command->add_option("--slo", options->preset,
                        "Bounds of a preset by its name; those above replace its own");
    command->add_option("--lengths", options->lengths, "Prompt and output tokens, P/N or P1-P2/N1-N2")
        ->capture_default_str();
    add_amount(*command, "--rate", options->rate, "Requests per second; default: the most within --target",
               Least::above_zero, kMostRate);
    add_amount(*command, "--target", options->target, "Share of requests that must meet the bounds",
               Least::above_zero, 1)
        ->capture_default_str();
    add_amount(*command, "--think", options->think, "Seconds a user waits before the next request",
               Least::zero, kMostSeconds);
    add_number(*command, "--requests", options->requests, "Simulated requests")->capture_default_str();
    add_number(*command, "--seed", options->seed, "Of arrivals and lengths")->capture_default_str();
    add_number(*command, "--sequences", options->sequences, "Requests that run at once")
        ->capture_default_str();
    add_number(*command, "--chunk", options->chunk, "Rows of one step; default 512");
    add_number(*command, "--ctx", options->context,
               "Positions of a request; default: the smaller of 4096 and the model's");
    add_number(*command, "--kv-tokens", options->kv_tokens,
               "Positions of all requests together; default: the engine's");
    add_number(*command, "--step-gap-us", options->step_gap_us,
               "What a step takes at most while prompts join; default: 1.5 times a step without");
    return {command, [options] { return users(*options); }};
}

}  // namespace cli
