// Presets carry their sources' figures: MLPerf's inference rules and mlperf.conf, guidellm's guide.
#include "timing/slo.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace takt {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr SloPreset kPresets[] = {
    {"mlperf-llama3.1-8b-server", {2000 * kMs, 100 * kMs, 0, 0}, 0.99},
    {"mlperf-llama3.1-8b-interactive", {500 * kMs, 30 * kMs, 0, 0}, 0.99},
    {"mlperf-llama2-70b-server", {2000 * kMs, 200 * kMs, 0, 0}, 0.99},
    {"mlperf-llama2-70b-interactive", {450 * kMs, 40 * kMs, 0, 0}, 0.99},
    {"mlperf-llama3.1-405b-server", {6000 * kMs, 175 * kMs, 0, 0}, 0.99},
    {"mlperf-llama3.1-405b-interactive", {4500 * kMs, 80 * kMs, 0, 0}, 0.99},
    {"mlperf-deepseek-r1-server", {2000 * kMs, 80 * kMs, 0, 0}, 0.99},
    {"mlperf-deepseek-r1-interactive", {1500 * kMs, 15 * kMs, 0, 0}, 0.99},
    {"mlperf-gpt-oss-120b-server", {3000 * kMs, 80 * kMs, 0, 0}, 0.99},
    {"mlperf-gpt-oss-120b-interactive", {2000 * kMs, 15 * kMs, 0, 0}, 0.99},
    {"guidellm-chat", {200 * kMs, 0, 50 * kMs, 0}, 0.99},
    {"guidellm-rag", {300 * kMs, 0, 100 * kMs, 3000 * kMs}, 0.99},
    {"guidellm-agent", {0, 0, 0, 5000 * kMs}, 0.99},
    {"guidellm-content-generation", {600 * kMs, 0, 200 * kMs, 0}, 0.99},
    {"guidellm-code-generation", {500 * kMs, 0, 150 * kMs, 0}, 0.99},
    {"guidellm-code-completion", {0, 0, 0, 2000 * kMs}, 0.99},
};

constexpr double kZ95 = 1.959963984540054;

double seconds(uint64_t to_ns, uint64_t from_ns) {
    return (static_cast<double>(to_ns) - static_cast<double>(from_ns)) * 1e-9;
}

}  // namespace

std::span<const SloPreset> slo_presets() {
    return kPresets;
}

uint32_t broken_bounds(const TimingSummary& summary, const Slo& slo, bool unfinished) {
    uint32_t broken = 0;
    const auto check = [&](Bound bound, double value_ns) {
        const uint64_t limit_ns = slo.bound_ns(bound);
        if (limit_ns != 0 && value_ns > static_cast<double>(limit_ns)) broken |= bit(bound);
    };
    if (summary.ttft_ns) {
        check(Bound::ttft, static_cast<double>(*summary.ttft_ns));
        if (unfinished) check(Bound::itl, static_cast<double>(summary.finish_ns));
    } else if (unfinished) {
        check(Bound::ttft, static_cast<double>(summary.e2e_ns));
    }
    if (summary.tpot_ns) check(Bound::tpot, *summary.tpot_ns);
    if (summary.longest_itl_ns) check(Bound::itl, *summary.longest_itl_ns);
    check(Bound::e2e, static_cast<double>(summary.e2e_ns));
    return broken;
}

SloVerdict judge(uint32_t broken, const Slo& slo, RequestOutcome outcome) {
    if (!slo.has_bounds()) return SloVerdict::not_judged;
    if (outcome == RequestOutcome::failed || broken != 0) return SloVerdict::missed;
    return outcome == RequestOutcome::ok ? SloVerdict::good : SloVerdict::not_judged;
}

Interval wilson_interval(uint64_t k, uint64_t n) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (n == 0) return {kNan, kNan};
    const auto count = static_cast<double>(n);
    const double share = static_cast<double>(k) / count, z2 = kZ95 * kZ95;
    const double middle = (share + z2 / (2 * count)) / (1 + z2 / count);
    const double half =
        kZ95 / (1 + z2 / count) * std::sqrt(share * (1 - share) / count + z2 / (4 * count * count));
    return {k == 0 ? 0 : middle - half, k == n ? 1 : middle + half};
}

double idle_latency(const Timeline& timeline, uint64_t ended_ns, bool unfinished, const SmoothRule& rule) {
    const bool from_first = rule.from_first_token && !timeline.steps.empty();
    const uint64_t origin_ns = from_first ? timeline.steps.front().sampled_ns : timeline.submitted_ns;
    uint64_t n = 0;
    double latest = -std::numeric_limits<double>::infinity();
    const auto token_at = [&](uint64_t ns) {  // the n-th, from 0
        const double due = rule.seconds_per_token * static_cast<double>(from_first ? n : n + 1);
        latest = std::max(latest, seconds(ns, origin_ns) - due);
    };
    for (const StepStamp& step : timeline.steps) {  // the first of a step's tokens is due first
        token_at(step.sampled_ns);
        n += step.n_tokens;
    }
    if (unfinished || n == 0) token_at(ended_ns);
    return latest;
}

double smooth_benefit(uint64_t n_tokens, double latency_seconds, const SmoothRule& rule) {
    return static_cast<double>(n_tokens) - rule.alpha * std::max(0.0, latency_seconds);
}

}  // namespace takt
