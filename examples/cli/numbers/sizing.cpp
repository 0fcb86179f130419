// Sums, products and the one rounding that bands are stated with.
#include "numbers/sizing.h"

#include <algorithm>
#include <cmath>

namespace cli {

double effective_limit(double provisioned_concurrency, double least_band_per_second) {
    constexpr double kUnits = 4;  // of concurrency that share one band
    return provisioned_concurrency * least_band_per_second / kUnits;
}

BandLoad band_load(double band_per_second, double request_tokens) {
    BandLoad load;
    load.requests_per_second = band_per_second / request_tokens;
    load.exact_seconds_per_request = request_tokens / band_per_second;
    load.whole_requests_per_second = std::floor(load.requests_per_second);
    if (load.whole_requests_per_second >= 1) load.seconds_per_request = 1 / load.whole_requests_per_second;
    return load;
}

double saturated(double asked_per_second, double cap_per_second) {
    return std::min(asked_per_second, cap_per_second);
}

TokenWeights token_weights(double rho) {
    const double input = kReferenceRequest.all() / (kReferenceRequest.input + kReferenceRequest.output * rho);
    return {input, rho * input};
}

BatchTime batch_time(double rows, const RequestTokens& request, double band_per_second, double rho) {
    const TokenWeights weight = token_weights(rho);
    const double weighted = weight.input * request.input + weight.output * request.output;
    return {rows * request.all() / band_per_second, rows * weighted / band_per_second};
}

E2eTime e2e_time(double ttft, double tpot, double output_tokens) {
    return {ttft + tpot * (output_tokens - 1), ttft + tpot * output_tokens};
}

double batching_gain(double continuous_per_minute, double static_per_minute) {
    return continuous_per_minute / static_per_minute;
}

}  // namespace cli
