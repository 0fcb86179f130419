// Loads, bands and times as provisioned services reckon them. Tokens per second count a request's input and
// output alike unless a weight is named.
#pragma once

#include <cstdint>
#include <optional>

namespace cli {

struct RequestTokens {
    double input = 0, output = 0;
    double all() const { return input + output; }
};

// The load that bands are given for.
constexpr RequestTokens kReferenceRequest{2048, 256};

// Tokens per second that a deployment of so many provisioned units sustains, the least band of one given.
double effective_limit(double provisioned_concurrency, double least_band_per_second);

// What a band of tokens per second carries of requests of so many tokens.
struct BandLoad {
    double whole_requests_per_second = 0;       // whole requests in a second, rounded down
    std::optional<double> seconds_per_request;  // of these; nothing where not one fits in a second
    double requests_per_second = 0, exact_seconds_per_request = 0;
};
BandLoad band_load(double band_per_second, double request_tokens);

// A service that levels off gives no more than its cap.
double saturated(double asked_per_second, double cap_per_second);

// An output token costs rho times what an input token does; scaled so that the reference request counts with
// its own tokens.
struct TokenWeights {
    double input = 1, output = 1;
};
TokenWeights token_weights(double rho);
constexpr double kDefaultRho = 4;

struct BatchTime {
    double plain_seconds = 0, weighted_seconds = 0;
};
BatchTime batch_time(double rows, const RequestTokens& request, double band_per_second, double rho);

// TPOT is over the tokens after the first, so a request of n takes TTFT + TPOT (n - 1); the usual estimate
// multiplies it with n. Neither is a percentile where TTFT and TPOT are.
struct E2eTime {
    double exact = 0, estimate = 0;
};
E2eTime e2e_time(double ttft, double tpot, double output_tokens);

// Requests per time with continuous batching by those with static batches.
double batching_gain(double continuous_per_minute, double static_per_minute);

}  // namespace cli
