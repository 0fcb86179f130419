// Every edge case of metrics.md 1.2, once: which request counts where.
#include "timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace takt {
namespace {

static_assert(sizeof(Totals) % sizeof(uint64_t) == 0);

// All but the two doubles at the end.
constexpr size_t kCounters = sizeof(Totals) / sizeof(uint64_t) - 2;
std::span<uint64_t, kCounters> counters(Totals& totals) {
    return std::span<uint64_t, kCounters>(reinterpret_cast<uint64_t*>(&totals), kCounters);
}
std::span<const uint64_t, kCounters> counters(const Totals& totals) {
    return std::span<const uint64_t, kCounters>(reinterpret_cast<const uint64_t*>(&totals), kCounters);
}

constexpr TotalsField kFields[] = {
    {"shed", &Totals::shed},
    {"prompt_tokens", &Totals::prompt_tokens},
    {"prompt_tokens_computed", &Totals::prompt_tokens_computed},
    {"prompt_tokens_cached", &Totals::prompt_tokens_cached},
    {"generated_tokens", &Totals::generated_tokens},
    {"decoded_tokens", &Totals::decoded_tokens},
    {"n_steps", &Totals::n_steps},
    {"n_preemptions", &Totals::n_preemptions},
    {"n_slides", &Totals::n_slides},
    {"n_draft_steps", &Totals::n_draft_steps},
    {"drafted_tokens", &Totals::drafted_tokens},
    {"accepted_tokens", &Totals::accepted_tokens},
    {"step_ns", &Totals::step_ns},
    {"prefill_step_ns", &Totals::prefill_step_ns},
    {"decode_step_ns", &Totals::decode_step_ns},
    {"draft_ns", &Totals::draft_ns},
    {"read_bytes", &Totals::read_bytes},
    {"product_operations", &Totals::product_operations},
    {"attention_operations", &Totals::attention_operations},
    {"slo_good", &Totals::slo_good},
    {"slo_missed", &Totals::slo_missed},
    {"slo_failed", &Totals::slo_failed},
    {"good_tokens", &Totals::good_tokens},
};

Series ttft_series(const Timeline& timeline) {
    const bool later = timeline.turn > 1, hit = timeline.cached_tokens > 0;
    if (later) return hit ? Series::ttft_later_hit : Series::ttft_later_miss;
    return hit ? Series::ttft_first_hit : Series::ttft_first_miss;
}

void record_gaps(const Timeline& timeline, Statistics& statistics) {
    uint64_t before = timeline.steps.front().sampled_ns;
    for (size_t j = 1; j < timeline.steps.size(); ++j) {
        const StepStamp& step = timeline.steps[j];
        const uint64_t sampled = std::max(before, step.sampled_ns), gap = sampled - before;
        before = sampled;
        statistics[Series::step_gap].record(gap);
        statistics[Series::itl].record(gap / std::max(1u, step.n_tokens), step.n_tokens, gap);
    }
}

void record_tokens(const EndedRequest& request, Statistics& statistics) {
    const TimingSummary& summary = request.summary;
    const Timeline& timeline = request.timeline;
    const RequestOutcome outcome = outcome_of(request.reason);
    if (timeline.steps.empty() || outcome == RequestOutcome::failed) return;
    const bool ok = outcome == RequestOutcome::ok;
    statistics[ok ? ttft_series(timeline) : Series::ttft_cancelled].record(*summary.ttft_ns);
    if (summary.tpot_ns)
        statistics[ok ? Series::tpot : Series::tpot_cancelled].record(
            static_cast<uint64_t>(std::llround(*summary.tpot_ns)));
    if (summary.tpot_n1_ns && ok)
        statistics[Series::tpot_n1].record(static_cast<uint64_t>(std::llround(*summary.tpot_n1_ns)));
    record_gaps(timeline, statistics);
    statistics.totals.gaps += timeline.gaps;
}

void record_verdict(const EndedRequest& request, Totals& totals) {
    const TimingSummary& summary = request.summary;
    const RequestOutcome outcome = outcome_of(request.reason);
    const uint32_t broken = broken_bounds(summary, request.slo, outcome != RequestOutcome::ok);
    switch (judge(broken, request.slo, outcome)) {
        case SloVerdict::not_judged:
            return;
        case SloVerdict::good:
            ++totals.slo_good;
            totals.good_tokens += summary.generated_tokens;
            return;
        case SloVerdict::missed:
            ++totals.slo_missed;
            if (outcome == RequestOutcome::failed) ++totals.slo_failed;
            for (uint32_t b = 0; b < kBounds; ++b) totals.slo_broken[b] += (broken >> b) & 1;
    }
}

double ratio(double a, double b) {
    return b > 0 ? a / b : std::numeric_limits<double>::quiet_NaN();
}
double per_second(double n, uint64_t ns) {
    return ratio(n, static_cast<double>(ns) * 1e-9);
}

}  // namespace

std::span<const TotalsField> totals_fields() {
    return kFields;
}

void Statistics::record(const EndedRequest& request, const SmoothRule& smooth) {
    Statistics& self = *this;
    const Timeline& timeline = request.timeline;
    const TimingSummary& summary = request.summary;
    const RequestOutcome outcome = outcome_of(request.reason);
    ++totals.finished[static_cast<size_t>(request.reason)];
    totals.n_slides += timeline.n_slides;
    totals.draft_ns += timeline.draft_ns;
    stalled_others.add(request.number, timeline.stalled_others_ns);
    self[Series::queue].record(summary.queue_ns);
    if (timeline.scheduled_ns) {
        self[Series::prefill].record(summary.prefill_ns);
        self[Series::preempted].record(summary.preempted_ns);
        self[Series::decode].record(summary.decode_ns);
        self[Series::inference].record(summary.e2e_ns - summary.queue_ns);
        if (request.imported) self[Series::handover].record(summary.handover_ns);
    }
    const Series e2e = outcome == RequestOutcome::ok          ? Series::e2e
                       : outcome == RequestOutcome::cancelled ? Series::e2e_cancelled
                                                              : Series::e2e_failed;
    self[e2e].record(summary.e2e_ns);
    self[Series::prompt_tokens].record(timeline.prompt_tokens);
    self[Series::generated_tokens].record(summary.generated_tokens);
    record_tokens(request, self);
    record_verdict(request, totals);
    const double late = idle_latency(timeline, request.ended_ns, outcome != RequestOutcome::ok, smooth);
    const double benefit = smooth_benefit(summary.generated_tokens, late, smooth);
    totals.smooth_benefit += benefit;
    totals.smooth_benefit_floored += std::max(0.0, benefit);
}

void Statistics::record_shed(const Slo& slo) {
    ++totals.shed;
    if (!slo.has_bounds()) return;
    ++totals.slo_missed;
    ++totals.slo_failed;
}

void Statistics::assign(const Statistics& from) {
    totals = from.totals;
    gauges = from.gauges;
    stalled_others = from.stalled_others;
    begin_ns = from.begin_ns;
    end_ns = from.end_ns;
    for (uint32_t s = 0; s < kSeries; ++s) series[s].assign(from.series[s]);
}

Totals& Totals::operator+=(const Totals& other) {
    const auto mine = counters(*this);
    const auto theirs = counters(other);
    for (size_t i = 0; i < kCounters; ++i) mine[i] += theirs[i];
    smooth_benefit += other.smooth_benefit;
    smooth_benefit_floored += other.smooth_benefit_floored;
    return *this;
}

void Statistics::merge(const Statistics& other) {
    totals += other.totals;
    const double held = static_cast<double>(gauges.pages_in_use);
    const double other_held = static_cast<double>(other.gauges.pages_in_use);
    if (std::isnan(gauges.page_waste) || held + other_held == 0) {
        gauges.page_waste = std::isnan(gauges.page_waste) ? other.gauges.page_waste : gauges.page_waste;
    } else if (!std::isnan(other.gauges.page_waste)) {
        gauges.page_waste =
            (gauges.page_waste * held + other.gauges.page_waste * other_held) / (held + other_held);
    }
    gauges.n_running += other.gauges.n_running;
    gauges.n_waiting += other.gauges.n_waiting;
    gauges.max_sequences += other.gauges.max_sequences;
    gauges.pages_in_use += other.gauges.pages_in_use;
    gauges.pages_cached += other.gauges.pages_cached;
    gauges.pages_total += other.gauges.pages_total;
    gauges.page_tokens = std::max(gauges.page_tokens, other.gauges.page_tokens);
    for (uint32_t s = 0; s < kSeries; ++s) series[s].add(other.series[s]);
    if (other.end_ns - other.begin_ns > end_ns - begin_ns) {
        begin_ns = other.begin_ns;
        end_ns = other.end_ns;
    }
}

void Origin::merge(const Origin& other) {
    for (const std::string& more : other.conditions) {
        if (conditions.size() >= kMostConditions) break;
        if (std::ranges::find(conditions, more) == conditions.end()) conditions.push_back(more);
    }
    const bool is_new = ("+" + engine + "+").find("+" + other.engine + "+") == std::string::npos;
    if (is_new && engine.size() + other.engine.size() < kLongestLabel) engine += "+" + other.engine;
    identity = identity * 31 + other.identity;  // so that sums of the same engines have the same
    energy_is_known = false;
    energy_method.clear();
    read_bytes_per_second = int8_operations_per_second = 0;
}

bool Statistics::subtract(const Statistics& earlier) {
    const auto mine = counters(totals);
    const auto before = counters(earlier.totals);
    if (earlier.end_ns > end_ns || earlier.begin_ns != begin_ns) return false;
    for (size_t i = 0; i < kCounters; ++i) {
        if (before[i] > mine[i]) return false;
    }
    for (size_t i = 0; i < kCounters; ++i) mine[i] -= before[i];
    totals.smooth_benefit -= earlier.totals.smooth_benefit;
    totals.smooth_benefit_floored -= earlier.totals.smooth_benefit_floored;
    begin_ns = earlier.end_ns;
    return std::ranges::all_of(std::views::iota(0u, kSeries),
                               [&](uint32_t s) { return series[s].subtract(earlier.series[s]); });
}

Rates rates_of(const Statistics& s, const Origin& origin) {
    const Totals& t = s.totals;
    const auto as_double = [](uint64_t n) { return static_cast<double>(n); };
    const uint64_t wall_ns = s.end_ns - s.begin_ns;
    uint64_t answered = 0;
    for (uint32_t r = 1; r < kFinishReasons; ++r) {
        if (outcome_of(static_cast<FinishReason>(r)) == RequestOutcome::ok) answered += t.finished[r];
    }
    Rates rates{};
    rates.prefill_tokens_per_second = per_second(as_double(t.prompt_tokens_computed), t.prefill_step_ns);
    rates.decode_tokens_per_second = per_second(as_double(t.decoded_tokens), t.decode_step_ns);
    rates.output_tokens_per_second = per_second(as_double(t.generated_tokens), wall_ns);
    rates.requests_per_second = per_second(as_double(answered), wall_ns);
    rates.judged = t.slo_good + t.slo_missed;
    rates.attainment = ratio(as_double(t.slo_good), as_double(rates.judged));
    const Interval interval = wilson_interval(t.slo_good, rates.judged);
    rates.attainment_low = interval.low;
    rates.attainment_high = interval.high;
    const bool judged = rates.judged > 0;
    const double none = std::numeric_limits<double>::quiet_NaN();
    rates.goodput_requests_per_second = judged ? per_second(as_double(t.slo_good), wall_ns) : none;
    rates.goodput_tokens_per_second = judged ? per_second(as_double(t.good_tokens), wall_ns) : none;
    rates.smooth_goodput = per_second(t.smooth_benefit, wall_ns);
    rates.smooth_goodput_floored = per_second(t.smooth_benefit_floored, wall_ns);
    rates.prefix_hit_rate = ratio(as_double(t.prompt_tokens_cached), as_double(t.prompt_tokens));
    rates.draft_acceptance_rate = ratio(as_double(t.accepted_tokens), as_double(t.drafted_tokens));
    rates.acceptance_length = 1 + ratio(as_double(t.accepted_tokens), as_double(t.n_draft_steps));
    const uint64_t operations = t.product_operations + t.attention_operations;
    rates.read_bytes_per_second = per_second(as_double(t.read_bytes), t.step_ns);
    rates.operations_per_second = per_second(as_double(operations), t.step_ns);
    rates.share_of_read = ratio(rates.read_bytes_per_second, origin.read_bytes_per_second);
    rates.share_of_int8 = ratio(rates.operations_per_second, origin.int8_operations_per_second);
    rates.joules = origin.energy_is_known ? as_double(t.energy_microjoules) * 1e-6 : none;
    rates.joules_per_token = ratio(rates.joules, as_double(t.generated_tokens));
    return rates;
}

}  // namespace takt
