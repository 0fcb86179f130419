// Deadlines of tokens and what missing them costs.
#include "numbers/smooth_goodput.h"

#include <algorithm>
#include <limits>

namespace cli {

const char* name_of(DeadlineOrigin origin) {
    return origin == DeadlineOrigin::arrival ? "arrival" : "first_token";
}

double idle_latency(const TokenTimes& request, const SmoothRule& rule) {
    if (request.token_s.empty()) return request.ended_s - rule.seconds_per_token;
    const bool from_first = rule.origin == DeadlineOrigin::first_token;
    double deadline = from_first ? request.token_s.front() : rule.seconds_per_token;
    double latest = -std::numeric_limits<double>::infinity();
    for (const double t : request.token_s) {
        latest = std::max(latest, t - deadline);
        deadline += rule.seconds_per_token;
    }
    return latest;
}

double smooth_benefit(const TokenTimes& request, const SmoothRule& rule) {
    const double lost = rule.tokens_per_second * std::max(0.0, idle_latency(request, rule));
    const double benefit = static_cast<double>(request.token_s.size()) - lost;
    return rule.floor_zero ? std::max(0.0, benefit) : benefit;
}

double smooth_goodput(const std::vector<TokenTimes>& requests, double seconds, const SmoothRule& rule) {
    if (!(seconds > 0)) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (const TokenTimes& request : requests) sum += smooth_benefit(request, rule);
    return sum / seconds;
}

}  // namespace cli
