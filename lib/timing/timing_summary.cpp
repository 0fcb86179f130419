// The formulas of metrics.md 1.2, once.
#include "timing/timing_summary.h"

#include <algorithm>
#include <vector>

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

// visit(gap, tokens of its step).
template <typename Visit>
void for_each_gap(const Timeline& timeline, Visit visit) {
    if (timeline.steps.empty()) return;
    uint64_t before = timeline.steps.front().sampled_ns;
    for (size_t j = 1; j < timeline.steps.size(); ++j) {
        const StepStamp& step = timeline.steps[j];
        const uint64_t sampled = std::max(before, step.sampled_ns);
        visit(static_cast<double>(sampled - before), step.n_tokens);
        before = sampled;
    }
}

// Step gaps, and the gaps divided among the tokens of their step.
void summarize_gaps(const Timeline& timeline, TimingSummary& summary) {
    std::vector<double> gaps, token_gaps;
    gaps.reserve(timeline.steps.size());
    token_gaps.reserve(timeline.steps.size());
    for_each_gap(timeline, [&](double gap, uint32_t n_tokens) {
        gaps.push_back(gap);
        token_gaps.insert(token_gaps.end(), n_tokens, gap / n_tokens);
    });
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
    for_each_gap(timeline, [&](double gap, uint32_t n_tokens) {
        summary.longest_itl_ns = std::max(summary.longest_itl_ns.value_or(0), gap / n_tokens);
    });
}

}  // namespace

TimingSummary summarize_timeline(const Timeline& timeline, uint64_t now_ns) {
    TimingSummary summary = summarize_phases(timeline, now_ns);
    summarize_gaps(timeline, summary);
    return summary;
}

TimingSummary summarize_phases(const Timeline& timeline, uint64_t now_ns) {
    const Stamps stamps = monotonic_stamps(timeline, now_ns);
    TimingSummary summary;
    summary.queue_ns = stamps.queue_end - stamps.submitted;
    summary.prefill_ns = stamps.first_token - stamps.queue_end;
    summary.preempted_ns = std::min(timeline.preempted_ns, summary.prefill_ns);
    summary.handover_ns = std::min(timeline.handover_ns, summary.prefill_ns - summary.preempted_ns);
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
