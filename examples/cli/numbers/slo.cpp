// Requests against bounds.
#include "numbers/slo.h"

#include <cmath>

namespace cli {
namespace {

bool over(const std::optional<double>& value, uint64_t bound_ns) {
    return bound_ns != 0 && value && *value > static_cast<double>(bound_ns);
}

bool over_any(const RequestTimes& request, const Slo& slo) {
    return over(request.ttft_ns, slo.ttft_ns) || over(request.tpot_ns, slo.tpot_ns) ||
           over(request.longest_itl_ns, slo.itl_ns) || over(request.e2e_ns, slo.e2e_ns);
}

}  // namespace

std::optional<bool> meets(const RequestTimes& request, const Slo& slo) {
    if (request.end == RequestEnd::failed) return false;
    bool missed = over_any(request, slo);
    if (request.end == RequestEnd::completed) return !missed;
    // Who was cancelled before the first token had waited at least that long for it.
    if (!request.ttft_ns) missed = missed || over(request.e2e_ns, slo.ttft_ns);
    return missed ? std::optional<bool>(false) : std::nullopt;
}

std::optional<double> Attainment::share() const {
    if (n_judged == 0) return std::nullopt;
    return static_cast<double>(n_good) / static_cast<double>(n_judged);
}

Attainment attainment(const std::vector<RequestTimes>& requests, const Slo& slo) {
    Attainment result;
    for (const RequestTimes& request : requests) {
        const std::optional<bool> good = meets(request, slo);
        if (!good) continue;
        ++result.n_judged;
        if (!*good) continue;
        ++result.n_good;
        result.good_tokens += request.n_tokens;
    }
    return result;
}

Interval wilson_95(uint64_t n_hits, uint64_t n_all) {
    if (n_all == 0) return {};
    constexpr double kZ = 1.959963984540054;
    const auto n = static_cast<double>(n_all);
    const double share = static_cast<double>(n_hits) / n, denominator = 1 + kZ * kZ / n;
    const double center = (share + kZ * kZ / (2 * n)) / denominator;
    const double half = kZ / denominator * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
    // Exact at the ends, where rounding would leave the share outside.
    return {n_hits == 0 ? 0.0 : center - half, n_hits == n_all ? 1.0 : center + half};
}

}  // namespace cli
