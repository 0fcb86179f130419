// Promises: what others promise, and whether a timing keeps one.
#include <cmath>
#include <string>
#include <vector>

#include "api/guard.h"
#include "api/slo.h"
#include "api/struct_copy.h"
#include "timing/finish_reason.h"

using namespace takt;
using namespace takt::api;

namespace {

// What bounds look at, from a timing that was told.
TimingSummary summary_of(const takt_timing& timing) {
    TimingSummary summary;
    summary.e2e_ns = timing.e2e_ns;
    summary.finish_ns = timing.finish_ns;
    if (timing.ttft_ns != TAKT_UNDEFINED_NS) summary.ttft_ns = timing.ttft_ns;
    if (!std::isnan(timing.tpot_ns)) summary.tpot_ns = timing.tpot_ns;
    if (timing.itl_ns.count > 0) summary.longest_itl_ns = timing.itl_ns.max;
    return summary;
}

}  // namespace

Verdict takt::api::judge_timing(const takt_timing& timing, const Slo& slo) {
    const bool runs = timing.finish_reason == TAKT_FINISH_NONE;
    const RequestOutcome outcome = outcome_of(static_cast<FinishReason>(timing.finish_reason));
    const uint32_t broken = broken_bounds(summary_of(timing), slo, runs || outcome != RequestOutcome::ok);
    const SloVerdict verdict = runs ? SloVerdict::not_judged : judge(broken, slo, outcome);
    return {static_cast<uint32_t>(verdict), broken};
}

size_t takt_slo_preset_count(void) {
    return slo_presets().size();
}

takt_status takt_slo_preset_get(size_t index, takt_slo_preset* out_preset) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_ERROR(check_output(out_preset, "out_preset"));
        const auto presets = slo_presets();
        if (index >= presets.size()) {
            return Status(StatusCode::invalid_argument,
                          fmt::format("index is {}, there are {} presets.", index, presets.size()));
        }
        takt_slo_preset preset{};
        preset.name = presets[index].name.data();  // literals have their end
        preset.percentile = presets[index].percentile;
        preset.slo = to_c(presets[index].slo);
        write_struct(preset, out_preset);
        return {};
    });
}

takt_status takt_timing_judge(const takt_timing* timing, const takt_slo* slo, uint32_t* out_verdict,
                              uint32_t* out_broken) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_verdict);
        TAKT_RETURN_IF_NULL(slo);
        const Result<takt_timing> read = read_struct(timing, "timing", takt_timing{});
        if (!read.ok()) return read.status();
        const Result<std::optional<Slo>> bounds = read_slo(slo);
        if (!bounds.ok()) return bounds.status();
        const int32_t reason = read->finish_reason;
        if (reason < 0 || reason >= static_cast<int32_t>(kFinishReasons))
            return Status(StatusCode::invalid_argument,
                          fmt::format("timing->finish_reason is {}, which is none.", reason));
        const Verdict verdict = judge_timing(*read, **bounds);
        *out_verdict = verdict.verdict;
        if (out_broken != nullptr) *out_broken = verdict.broken;
        return {};
    });
}
