// Numbers under the bars are the library's: of the timing, and of the engine that ran this answer alone.
#include "timeline_report.h"

#include <cmath>

#include <fmt/format.h>

namespace cli {
namespace {

std::string percentiles(const char* name, const takt_distribution& d) {
    if (d.count == 0) return "";
    return fmt::format("{} p50 {:.3f}, p95 {:.3f}, p99 {:.3f}{}, max {:.3f} ms, n {}\n", name, d.p50 * 1e-6,
                       d.p95 * 1e-6, d.p99 * 1e-6, d.count < 100 ? " (n<100)" : "", d.max * 1e-6, d.count);
}

std::string promise(const takt_timing& timing) {
    if (timing.slo_verdict == TAKT_SLO_NOT_JUDGED) return "";
    if (timing.slo_verdict == TAKT_SLO_GOOD) return "SLO kept\n";
    std::string bounds;
    for (const auto& [bit, name] : {std::pair{TAKT_BOUND_TTFT, "TTFT"},
                                    {TAKT_BOUND_TPOT, "TPOT"},
                                    {TAKT_BOUND_ITL, "ITL"},
                                    {TAKT_BOUND_E2E, "E2E"}}) {
        if ((timing.slo_broken & static_cast<uint32_t>(bit)) != 0)
            bounds += (bounds.empty() ? "" : ", ") + std::string(name);
    }
    return fmt::format("SLO missed: {}\n", bounds.empty() ? "it failed" : bounds);
}

}  // namespace

void TimelineCollector::token(const takt::Event& event) {
    if (event.raw.step_token_index > 0 && !steps_.empty()) {
        ++steps_.back().n_tokens;
        steps_.back().text += event.text;
        return;
    }
    const takt_gap& gap = event.raw.gap;
    TimelineStep step;
    step.first_token = event.raw.token_index;
    step.gap_ns = gap.total_ns;
    const uint64_t parts[kGapPartCount] = {gap.own_compute_ns, gap.other_prefill_ns, gap.other_decode_ns,
                                           gap.page_wait_ns,   gap.callback_ns,      gap.other_engines_ns,
                                           gap.scheduler_ns};
    std::copy(std::begin(parts), std::end(parts), step.parts_ns);
    step.stalled_by = gap.stalled_by_id;
    step.text = event.text;
    steps_.push_back(std::move(step));
}

std::string TimelineCollector::text(const takt_timing& timing, const takt_totals& totals) const {
    std::string text =
        timeline_text({timing.queue_ns, timing.prefill_ns, timing.decode_ns, timing.finish_ns}, steps_);
    text += percentiles("step gap", timing.step_gap_ns) + percentiles("ITL", timing.itl_ns) + promise(timing);
    if (std::isfinite(totals.goodput_tokens_per_second))
        text += fmt::format("goodput {:.2f} tokens/s, ", totals.goodput_tokens_per_second);
    if (std::isfinite(totals.smooth_goodput))
        text += fmt::format(
            "smooth goodput {:.2f} tokens/s (a token due every 0.2 s from the arrival, alpha 2.5, "
            "f(l) = max(0, l))\n",
            totals.smooth_goodput);
    return text;
}

}  // namespace cli
