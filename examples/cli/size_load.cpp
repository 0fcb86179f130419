// Bench lines become step costs, an arrival rate becomes requests, and the engine runs in simulated time.
#include "size_load.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include <fmt/format.h>

#include "failure.h"
#include "load.h"
#include "numbers/measured_steps.h"
#include "system.h"
#include "slo_option.h"

namespace cli {
namespace {

constexpr double kSearchedTo = 1.01;  // the rate that is found, beside one that fails
constexpr double kSlowest = 1e-4;     // times the rate of one request after another

// A bound that is smaller than a nanosecond is still one.
uint64_t to_ns(double milliseconds) {
    return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(milliseconds * 1e6)));
}

// As late as a whole number of ns can be; the library says that this is too late.
uint64_t arrival_ns(double seconds) {
    return static_cast<uint64_t>(std::llround(std::min(seconds * 1e9, 9e18)));
}

std::vector<takt_step_cost> to_c(const std::vector<MeasuredStep>& steps) {
    std::vector<takt_step_cost> costs;
    for (const MeasuredStep& step : steps) costs.push_back({step.step_ns, step.n_rows, 0});
    return costs;
}

takt::StepCosts read_costs(const std::string& path, const takt::Model& model) {
    const std::string text = read_file(path);
    std::vector<BenchLine> lines;
    try {
        lines = parse_bench_lines(text);
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

}  // namespace

Slo read_slo(const UsersOptions& options) {
    Slo slo;
    if (!options.preset.empty()) slo = slo_of_preset(options.preset);
    if (options.ttft_ms > 0) slo.ttft_ns = to_ns(options.ttft_ms);
    if (options.tpot_ms > 0) slo.tpot_ns = to_ns(options.tpot_ms);
    if (options.itl_ms > 0) slo.itl_ns = to_ns(options.itl_ms);
    if (options.e2e_ms > 0) slo.e2e_ns = to_ns(options.e2e_ms);
    if (!slo.any())
        throw WrongUsage("users needs a bound: --slo-ttft, --slo-tpot, --slo-itl, --slo-e2e or --slo.");
    return slo;
}

SimulatedLoad::SimulatedLoad(const takt::Model& model, const UsersOptions& options)
    : model_(model), options_(options), slo_(read_slo(options)), costs_(read_costs(options.bench, model)) {
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

Outcome SimulatedLoad::at(double rate) const {
    check_interrupted();
    const std::vector<double> arrivals = poisson_arrivals(rate, lengths_.size(), 0, options_.seed);
    std::vector<takt_simulated_request> requests;
    for (std::size_t i = 0; i < lengths_.size(); ++i)
        requests.push_back({arrival_ns(arrivals[i]), lengths_[i].prompt_tokens, lengths_[i].output_tokens});
    return run(rate, requests);
}

double SimulatedLoad::slowest_rate() const {
    uint64_t ns = 0;
    const takt_simulated_request alone{0, lengths_.front().prompt_tokens, lengths_.front().output_tokens};
    model_.simulate(engine_, costs_, {alone}, [&](std::size_t, const takt_timing& timing) {
        ns = timing.e2e_ns;
        return true;
    });
    return kSlowest * 1e9 / static_cast<double>(ns);
}

double SimulatedLoad::capacity() const {
    std::vector<takt_simulated_request> at_once;
    for (const Lengths& lengths : lengths_)
        at_once.push_back({0, lengths.prompt_tokens, lengths.output_tokens});
    takt::EngineOptions roomy = engine_;
    roomy.max_waiting = static_cast<uint32_t>(lengths_.size());
    uint64_t last_ns = 0;
    model_.simulate(roomy, costs_, at_once, [&](std::size_t, const takt_timing& timing) {
        last_ns = std::max(last_ns, timing.finished_ns);
        return !interrupted();
    });
    check_interrupted();
    return static_cast<double>(lengths_.size()) * 1e9 / static_cast<double>(std::max<uint64_t>(last_ns, 1));
}

std::optional<Outcome> SimulatedLoad::most(double target) const {
    const auto reaches = [target](const Outcome& outcome) {
        return outcome.attained.share().value_or(0) >= target;
    };
    const double fastest = std::min(capacity(), kMostRate);
    double low = std::min(slowest_rate(), fastest), high = low;
    Outcome best = at(low);
    if (!reaches(best)) return std::nullopt;
    while (high < fastest) {
        high = std::min(2 * high, fastest);
        Outcome tried = at(high);
        if (!reaches(tried)) break;
        low = high;
        best = std::move(tried);
    }
    while (high / low > kSearchedTo) {
        const double middle = std::sqrt(low * high);
        Outcome tried = at(middle);
        if (reaches(tried)) {
            low = middle;
            best = std::move(tried);
        } else {
            high = middle;
        }
    }
    return best;
}

Outcome SimulatedLoad::run(double rate, const std::vector<takt_simulated_request>& requests) const {
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

}  // namespace cli
