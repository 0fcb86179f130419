// The formulas of metrics.md 1.2, once.
#include "timing/timing_summary.h"

#include <algorithm>
#include <cmath>

namespace takt {
namespace {

constexpr double kNsPerSecond = 1e9;

// Each stamp where it was, or at the one before it.
struct Stamps {
    uint64_t submitted, queue_end, first_token, last_token, finished;
};

Stamps monotonic_stamps(const Timeline& timeline, uint64_t now_ns) {
    Stamps stamps{};
    stamps.submitted = timeline.submitted_ns;
    uint64_t latest = stamps.submitted;
    const auto not_before = [&latest](uint64_t ns) { return latest = std::max(latest, ns); };
    if (timeline.scheduled_ns) stamps.queue_end = not_before(*timeline.scheduled_ns);
    if (!timeline.steps.empty()) stamps.first_token = not_before(timeline.steps.front().sampled_ns);
    for (const StepStamp& step : timeline.steps) stamps.last_token = not_before(step.sampled_ns);
    stamps.finished = not_before(timeline.finished_ns.value_or(now_ns));
    if (!timeline.scheduled_ns) stamps.queue_end = stamps.finished;
    if (timeline.steps.empty()) stamps.first_token = stamps.last_token = stamps.finished;
    return stamps;
}

// Step gaps, and the gaps divided among the tokens of their step.
void summarize_gaps(const Timeline& timeline, TimingSummary& summary) {
    std::vector<double> gaps, token_gaps;
    gaps.reserve(timeline.steps.size());
    token_gaps.reserve(timeline.steps.size());
    uint64_t before = timeline.steps.front().sampled_ns;
    for (size_t j = 1; j < timeline.steps.size(); ++j) {
        const StepStamp& step = timeline.steps[j];
        const uint64_t sampled = std::max(before, step.sampled_ns);
        const auto gap = static_cast<double>(sampled - before);
        before = sampled;
        gaps.push_back(gap);
        token_gaps.insert(token_gaps.end(), step.n_tokens, gap / step.n_tokens);
    }
    summary.step_gap_ns = summarize(std::move(gaps));
    summary.itl_ns = summarize(std::move(token_gaps));
}

void summarize_tokens(const Timeline& timeline, const Stamps& stamps, TimingSummary& summary) {
    for (const StepStamp& step : timeline.steps) summary.generated_tokens += step.n_tokens;
    summary.ttft_ns = stamps.first_token - stamps.submitted;
    const auto decode_ns = static_cast<double>(summary.decode_ns);
    const uint64_t after_first_step = summary.generated_tokens - timeline.steps.front().n_tokens;
    if (after_first_step > 0) summary.tpot_ns = decode_ns / static_cast<double>(after_first_step);
    if (summary.generated_tokens > 1)
        summary.tpot_n1_ns = decode_ns / static_cast<double>(summary.generated_tokens - 1);
    if (summary.tpot_ns && *summary.tpot_ns > 0)
        summary.decode_tokens_per_second = kNsPerSecond / *summary.tpot_ns;
    summarize_gaps(timeline, summary);
}

}  // namespace

double nearest_rank(std::span<const double> sorted, double p) {
    if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
    // n p of an exact rank may come out a rounding error above it: 0.07 * 100 > 7.
    const double rank = std::ceil(static_cast<double>(sorted.size()) * p * (1 - 1e-12));
    const double last = static_cast<double>(sorted.size());
    return sorted[static_cast<size_t>(std::clamp(rank, 1.0, last)) - 1];
}

Distribution summarize(std::vector<double> samples) {
    Distribution distribution;
    distribution.count = samples.size();
    if (samples.empty()) return distribution;
    std::sort(samples.begin(), samples.end());
    distribution.p50 = nearest_rank(samples, 0.50);
    distribution.p95 = nearest_rank(samples, 0.95);
    distribution.p99 = nearest_rank(samples, 0.99);
    distribution.max = samples.back();
    return distribution;
}

TimingSummary summarize_timeline(const Timeline& timeline, uint64_t now_ns) {
    const Stamps stamps = monotonic_stamps(timeline, now_ns);
    TimingSummary summary;
    summary.queue_ns = stamps.queue_end - stamps.submitted;
    summary.prefill_ns = stamps.first_token - stamps.queue_end;
    summary.preempted_ns = std::min(timeline.preempted_ns, summary.prefill_ns);
    summary.decode_ns = stamps.last_token - stamps.first_token;
    summary.finish_ns = stamps.finished - stamps.last_token;
    summary.e2e_ns = stamps.finished - stamps.submitted;
    summary.prompt_tokens = timeline.prompt_tokens;
    summary.cached_tokens = timeline.cached_tokens;
    const uint64_t busy_ns = summary.prefill_ns - summary.preempted_ns;
    if (timeline.scheduled_ns && busy_ns > 0) {
        summary.prefill_tokens_per_second =
            static_cast<double>(timeline.computed_tokens) * kNsPerSecond / static_cast<double>(busy_ns);
    }
    if (!timeline.steps.empty()) summarize_tokens(timeline, stamps, summary);
    return summary;
}

}  // namespace takt
