// Summary and stamps come from one copy of the timeline, so that they agree while the request still runs.
#include "api/timing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <string_view>

#include "api/slo.h"
#include "timing/timeline.h"
#include "timing/timing_summary.h"

namespace takt::api {
namespace {

takt_distribution distribution_of(const Distribution& from) {
    return {from.count, from.p50, from.p95, from.p99, from.max};
}

double or_nan(const std::optional<double>& value) {
    return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

void fill_stamps(const Timeline& timeline, takt_timing& out) {
    out.submitted_ns = timeline.submitted_ns;
    out.scheduled_ns = timeline.scheduled_ns.value_or(TAKT_UNDEFINED_NS);
    out.first_token_ns = timeline.steps.empty() ? TAKT_UNDEFINED_NS : timeline.steps.front().sampled_ns;
    out.last_token_ns = timeline.steps.empty() ? TAKT_UNDEFINED_NS : timeline.steps.back().sampled_ns;
    out.finished_ns = timeline.finished_ns.value_or(TAKT_UNDEFINED_NS);
}

void fill_summary(const TimingSummary& summary, takt_timing& out) {
    out.queue_ns = summary.queue_ns;
    out.prefill_ns = summary.prefill_ns;
    out.preempted_ns = summary.preempted_ns;
    out.decode_ns = summary.decode_ns;
    out.finish_ns = summary.finish_ns;
    out.handover_ns = summary.handover_ns;
    out.e2e_ns = summary.e2e_ns;
    out.ttft_ns = summary.ttft_ns.value_or(TAKT_UNDEFINED_NS);
    out.tpot_ns = or_nan(summary.tpot_ns);
    out.tpot_n1_ns = or_nan(summary.tpot_n1_ns);
    out.step_gap_ns = distribution_of(summary.step_gap_ns);
    out.itl_ns = distribution_of(summary.itl_ns);
    out.prompt_tokens = summary.prompt_tokens;
    out.cached_tokens = summary.cached_tokens;
    out.generated_tokens = summary.generated_tokens;
    out.prefill_tokens_per_second = or_nan(summary.prefill_tokens_per_second);
    out.decode_tokens_per_second = or_nan(summary.decode_tokens_per_second);
}

void fill_gaps(const Timeline& timeline, takt_timing& out) {
    static_assert(StallList::kMost == std::size(takt_timing{}.stalled_by));
    out.gaps = to_c(timeline.gaps);
    out.longest_gap = to_c(timeline.longest_gap);
    std::array<Stall, StallList::kMost> stalls = timeline.stalled_by.entries();
    std::ranges::sort(stalls, std::ranges::greater(), &Stall::ns);
    std::ranges::transform(stalls, out.stalled_by,
                           [](const Stall& stall) { return takt_stall{stall.request, stall.ns}; });
    out.stalled_others_ns = timeline.stalled_others_ns;
}

void fill_verdict(const Slo& slo, takt_timing& out) {
    const Verdict verdict = judge_timing(out, slo);
    out.slo_verdict = verdict.verdict;
    out.slo_broken = verdict.broken;
}

}  // namespace

takt_timing make_timing(const Timeline& timeline, FinishReason reason, std::string_view backend,
                        uint64_t now_ns) {
    takt_timing out{};
    out.struct_size = sizeof out;
    out.finish_reason = static_cast<int32_t>(reason);
    fill_stamps(timeline, out);
    out.draft_ns = timeline.draft_ns;
    std::ranges::copy(timeline.drafted, out.drafted);
    std::ranges::copy(timeline.accepted, out.accepted);
    out.dropped_tokens = timeline.dropped_tokens;
    out.n_slides = timeline.n_slides;
    out.n_preemptions = timeline.n_preemptions;
    fill_summary(summarize_timeline(timeline, now_ns), out);
    std::memcpy(out.backend, backend.data(), std::min(backend.size(), sizeof out.backend - 1));
    return out;
}

takt_timing make_timing(const Request& request, Runtime& runtime) {
    const FinishReason reason = request.finish_reason();
    const Timeline timeline = request.timeline();
    // Read after the timeline: a stamp later than now would make a phase wrap around.
    const uint64_t now_ns = timeline.finished_ns.value_or(runtime.clock().now_ns());
    takt_timing out = make_timing(timeline, reason, request.backend_name(), now_ns);
    out.n_threads = runtime.pool().n_threads();
    out.request_id = request.number();
    fill_gaps(timeline, out);
    fill_verdict(request.slo(), out);
    return out;
}

}  // namespace takt::api
