// Figures that others published, to set one's own beside: each says what it holds for.
#pragma once

#include <span>
#include <string_view>

namespace cli {

// LLaMA-2 under a serving engine (0.6.1) on four A100, 25 users at once; seconds.
struct PublishedLatency {
    std::string_view model;
    double ttft_p50, ttft_p95, ttft_p99;
    double tpot_p50, tpot_p95, tpot_p99;
};
std::span<const PublishedLatency> published_latencies();

enum class FactorKind {
    falls_by,           // a share of what it was
    at_most_share,      // of a whole
    at_most_ms,         // a token
    saves_at_least_ms,  // a token
    tokens_per_second,
};
struct PublishedFactor {
    std::string_view id;
    FactorKind kind;
    double value;
    std::string_view holds_for;
};
std::span<const PublishedFactor> published_factors();
// What is left of an amount that falls by this share.
double after_fall(double amount, double share);

// Gains of speculative decoding, in the words of their source.
struct PublishedClaim {
    std::string_view claim, condition;
};
std::span<const PublishedClaim> published_speculation();

}  // namespace cli
