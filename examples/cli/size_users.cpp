// takt size users: how many requests a second, and users, an engine serves within an SLO.
#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "failure.h"
#include "load.h"
#include "numbers/percentiles.h"
#include "size.h"
#include "size_load.h"

namespace cli {
namespace {

constexpr double kMostMilliseconds = 1e9, kMostSeconds = 1e6;
constexpr uint64_t kMostRequests = 1'000'000, kMostStepGapUs = 1'000'000'000'000;

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

// What is known of a rate: more than the engine carries piles up, and fewer users than that keep it busy.
std::string note_on_rate(const UsersOptions& options, const Outcome& outcome, double capacity) {
    if (outcome.rate > capacity) return "as given, more than the engine carries; Poisson arrivals";
    if (options.rate) return "as given; Poisson arrivals";
    return outcome.rate >= 0.99 * capacity ? "all that the engine carries; the bounds would allow more"
                                           : "the most within the target; Poisson arrivals";
}

void report(const UsersOptions& options, const Outcome& outcome, double capacity) {
    const Attainment& attained = outcome.attained;
    const Interval bounds = wilson_95(attained.n_good, attained.n_judged);
    double tokens = 0;
    for (const RequestTimes& request : outcome.requests) tokens += static_cast<double>(request.n_tokens);
    SizeAnswer answer;
    answer.add("requests_per_second", outcome.rate, note_on_rate(options, outcome, capacity))
        .add("capacity_requests_per_second", capacity, "what the engine carries where it never idles")
        .add("attainment", attained.share(),
             fmt::format("{} of {} requests", attained.n_good, attained.n_judged))
        .add("attainment_low", bounds.low, "Wilson, 95 %")
        .add("attainment_high", bounds.high, "Wilson, 95 %")
        .add("target", options.target)
        .add_text("meets_target", attained.share().value_or(0) >= options.target ? "yes" : "no");
    const double e2e = mean_e2e_seconds(outcome), think = options.think.value_or(0);
    answer.add("users",
               outcome.rate > capacity ? std::nullopt : std::optional<double>(outcome.rate * (e2e + think)),
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
    const SimulatedLoad load(model, options);
    if (options.rate) {
        report(options, load.at(*options.rate), load.capacity());
        return 0;
    }
    const std::optional<Outcome> best = load.most(options.target);
    if (!best)
        throw Failure(
            fmt::format("No rate reaches an attainment of {:g}: {:.4g} of the requests meet the bounds even "
                        "where each is alone.",
                        options.target, load.at(load.slowest_rate()).attained.share().value_or(0)));
    report(options, *best, load.capacity());
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
    command
        ->add_option("--step-gap-us", options->step_gap_us,
                     "What a step takes at most while prompts join; default: 1.5 times a step without")
        ->transform(whole_number(kMostStepGapUs));
    return {command, [options] { return users(*options); }};
}

}  // namespace cli
