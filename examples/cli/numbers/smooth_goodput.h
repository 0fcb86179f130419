// Smooth goodput after arXiv:2410.14257v2, equations 5 and 9 to 11: tokens less what idle waiting costs.
#pragma once

#include <vector>

namespace cli {

// Where deadlines are counted from: the arrival (d_i = V i, version 2 of the paper) or the first token
// (d_i = t_1 + V (i - 1), version 1).
enum class DeadlineOrigin { arrival, first_token };
const char* name_of(DeadlineOrigin origin);

struct SmoothRule {
    double seconds_per_token = 0.2;  // V, the user's speed
    double tokens_per_second = 2.5;  // alpha, what a second of waiting costs
    DeadlineOrigin origin = DeadlineOrigin::arrival;
    bool floor_zero = false;  // a request can't count below 0
};

// Token i came token_s[i] seconds after the arrival, in order. ended_s: when a request without a token did.
struct TokenTimes {
    std::vector<double> token_s;
    double ended_s = 0;
};

// The longest time that the user waited for a token that was due, negative if all came early.
double idle_latency(const TokenTimes& request, const SmoothRule& rule);
// n - alpha f(l) with f(l) = max(0, l).
double smooth_benefit(const TokenTimes& request, const SmoothRule& rule);
// Tokens a second of all requests that were committed. NaN for no time at all.
double smooth_goodput(const std::vector<TokenTimes>& requests, double seconds, const SmoothRule& rule);

}  // namespace cli
