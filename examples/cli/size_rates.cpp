// takt size limit, band, batch, e2e, words, gain.
#include <memory>

#include <fmt/format.h>

#include "failure.h"
#include "numbers/measured_steps.h"
#include "numbers/published.h"
#include "numbers/sizing.h"
#include "numbers/words.h"
#include "size.h"
#include "system.h"

namespace cli {
namespace {

struct RatesOptions {
    double concurrency = 0, band = 0, rows = 0, rho = kDefaultRho;
    RequestTokens request = kReferenceRequest;
    std::optional<double> cap, prefill_rate, decode_rate;
    std::optional<double> ttft_ms, tpot_ms, words, rate, words_per_token;
    double output_tokens = 256, continuous = 0, fixed = 0;
    bool published = false, json = false;
};

void add_request(CLI::App& app, RatesOptions& options) {
    add_amount(app, "--in", options.request.input, "Input tokens of a request")->capture_default_str();
    add_amount(app, "--out", options.request.output, "Output tokens of a request")->capture_default_str();
}

int limit(const RatesOptions& options) {
    SizeAnswer()
        .add("tokens_per_second", effective_limit(options.concurrency, options.band),
             "provisioned concurrency x least band / 4")
        .print(options.json);
    return 0;
}

int band(const RatesOptions& options) {
    SizeAnswer answer;
    const double given = options.cap ? saturated(options.band, *options.cap) : options.band;
    const BandLoad load = band_load(given, options.request.all());
    answer.add("request_tokens", options.request.all(), "input + output");
    if (options.cap) answer.add("band_tokens_per_second", given, "levelled off at the cap");
    answer.add("whole_requests_per_second", load.whole_requests_per_second, "rounded down")
        .add("seconds_per_request", load.seconds_per_request, "of these")
        .add("requests_per_second", load.requests_per_second, "unrounded")
        .add("exact_seconds_per_request", load.exact_seconds_per_request)
        .print(options.json);
    return 0;
}

int batch(const RatesOptions& options) {
    double rho = options.rho;
    if (options.prefill_rate.has_value() != options.decode_rate.has_value())
        throw WrongUsage("--prefill-rate and --decode-rate go together: rho is their ratio.");
    if (options.prefill_rate) rho = *options.prefill_rate / *options.decode_rate;
    const BatchTime time = batch_time(options.rows, options.request, options.band, rho);
    const TokenWeights weight = token_weights(rho);
    SizeAnswer()
        .add("plain_seconds", time.plain_seconds, "rows x (input + output) / band")
        .add("weighted_seconds", time.weighted_seconds, "an output token weighs rho input tokens")
        .add("rho", rho, options.prefill_rate ? "measured prefill rate / decode rate" : "assumed")
        .add("input_weight", weight.input, "so that the reference request of 2048 + 256 counts as it is")
        .add("output_weight", weight.output)
        .print(options.json);
    return 0;
}

constexpr const char* kSumNote = "an estimate where TTFT and TPOT are percentiles: their sum is not one";

void print_published(const RatesOptions& options) {
    for (const PublishedLatency& row : published_latencies()) {
        const std::tuple<const char*, double, double> quantiles[] = {{"p50", row.ttft_p50, row.tpot_p50},
                                                                     {"p95", row.ttft_p95, row.tpot_p95},
                                                                     {"p99", row.ttft_p99, row.tpot_p99}};
        for (const auto& [quantile, ttft, tpot] : quantiles) {
            const E2eTime time = e2e_time(ttft, tpot, options.output_tokens);
            SizeAnswer()
                .add_text("published", fmt::format("LLaMA-2 {} {}", row.model, quantile),
                          "four A100, 25 users at once")
                .add("ttft_seconds", ttft)
                .add("tpot_seconds", tpot)
                .add("e2e_seconds", time.exact, kSumNote)
                .add("e2e_estimate_seconds", time.estimate, "TTFT + TPOT x n")
                .print(options.json);
        }
    }
}

int e2e(const RatesOptions& options) {
    if (options.published) {
        print_published(options);
        return 0;
    }
    if (!options.ttft_ms || !options.tpot_ms)
        throw WrongUsage("e2e needs --ttft and --tpot, or --published.");
    const E2eTime time = e2e_time(*options.ttft_ms / 1e3, *options.tpot_ms / 1e3, options.output_tokens);
    SizeAnswer()
        .add("e2e_seconds", time.exact, std::string("TTFT + TPOT x (n - 1); ") + kSumNote)
        .add("e2e_estimate_seconds", time.estimate, "TTFT + TPOT x n, as it is often given")
        .print(options.json);
    return 0;
}

// Both factors unless one is given: published figures were made with either.
int words(const RatesOptions& options) {
    if (!options.words && !options.rate && !options.tpot_ms)
        throw WrongUsage("words needs --words, --rate or --tpot.");
    SizeAnswer answer;
    std::vector<double> factors = {kWordsPerToken, kReadingWordsPerToken};
    if (options.words_per_token) factors = {*options.words_per_token};
    for (const double factor : factors) {
        const std::string at = fmt::format("_at_{:g}", factor);
        const std::string note = fmt::format("{:g} words a token", factor);
        if (options.words) answer.add("tokens" + at, tokens_of_words(*options.words, factor), note);
        if (options.rate) answer.add("words_per_second" + at, words_per_second(*options.rate, factor), note);
        if (options.tpot_ms)
            answer.add("words_per_minute" + at, words_per_minute(*options.tpot_ms / 1e3, factor), note);
    }
    answer.print(options.json);
    return 0;
}

int gain(const RatesOptions& options) {
    SizeAnswer()
        .add("gain", batching_gain(options.continuous, options.fixed),
             "continuous by static, requests a minute")
        .print(options.json);
    return 0;
}

using Options = std::shared_ptr<RatesOptions>;

std::pair<CLI::App*, Options> calculator(CLI::App& size, const char* name, const char* description) {
    auto options = std::make_shared<RatesOptions>();
    CLI::App* command = size.add_subcommand(name, description);
    command->add_flag("--json", options->json, "One JSON object");
    return {command, options};
}

}  // namespace

Command add_size_limit(CLI::App& size) {
    auto [command, options] = calculator(size, "limit", "Tokens per second of a provisioned deployment");
    add_amount(*command, "--concurrency", options->concurrency, "Provisioned concurrency")->required();
    add_amount(*command, "--band", options->band, "Least band of one, tokens per second")->required();
    return {command, [o = options] { return limit(*o); }};
}

Command add_size_band(CLI::App& size) {
    auto [command, options] = calculator(size, "band", "Requests that a band of tokens per second carries");
    add_amount(*command, "--band", options->band, "Tokens per second, input and output")->required();
    add_request(*command, *options);
    add_amount(*command, "--cap", options->cap, "Tokens per second at which the service levels off");
    return {command, [o = options] { return band(*o); }};
}

Command add_size_batch(CLI::App& size) {
    auto [command, options] = calculator(size, "batch", "Time of a batch of equal requests");
    add_amount(*command, "--rows", options->rows, "Requests")->required();
    add_amount(*command, "--band", options->band, "Tokens per second, input and output")->required();
    add_request(*command, *options);
    add_amount(*command, "--rho", options->rho, "Input tokens that an output token weighs")
        ->capture_default_str();
    add_amount(*command, "--prefill-rate", options->prefill_rate, "Measured, tokens per second: for rho");
    add_amount(*command, "--decode-rate", options->decode_rate, "Measured, tokens per second: for rho");
    return {command, [o = options] { return batch(*o); }};
}

Command add_size_e2e(CLI::App& size) {
    auto [command, options] = calculator(size, "e2e", "End-to-end time from TTFT and TPOT");
    add_amount(*command, "--ttft", options->ttft_ms, "Milliseconds to the first token");
    add_amount(*command, "--tpot", options->tpot_ms, "Milliseconds a token after the first");
    add_amount(*command, "-n", options->output_tokens, "Output tokens")->capture_default_str();
    command->add_flag("--published", options->published,
                      "Of LLaMA-2 7B, 13B and 70B as published, one after another");
    return {command, [o = options] { return e2e(*o); }};
}

Command add_size_words(CLI::App& size) {
    auto [command, options] =
        calculator(size, "words", "Tokens and words of English, at 0.75 and 0.8 words a token");
    add_amount(*command, "--words", options->words, "Words, as tokens");
    add_amount(*command, "--rate", options->rate, "Tokens per second, as words per second");
    add_amount(*command, "--tpot", options->tpot_ms, "Milliseconds a token, as words per minute");
    add_amount(*command, "--words-per-token", options->words_per_token, "Another factor than these two");
    return {command, [o = options] { return words(*o); }};
}

Command add_size_gain(CLI::App& size) {
    auto [command, options] = calculator(size, "gain", "Gain of continuous batching");
    add_amount(*command, "--continuous", options->continuous, "Requests a minute with it")->required();
    add_amount(*command, "--static", options->fixed, "Requests a minute with static batches")->required();
    return {command, [o = options] { return gain(*o); }};
}

}  // namespace cli
