// Each cause takes what is left of the gap at most, and the scheduler what is left in the end: the parts add
// up whatever a caller's clock does.
#include "engine/gap_keeper.h"

#include <algorithm>

#include "base/clock.h"
#include "timing/step_shares.h"

namespace takt {
namespace {

// One that was preempted waits for its pages until a step holds a row of it again.
bool feels_gaps(const RunningRequest& r) {
    return r.gap.open && !r.preempted_ns && !r.finished;
}

}  // namespace

void GapKeeper::in_step(std::span<const Running> running, uint64_t ns, uint32_t decode_rows,
                        uint32_t prefill_rows, const StepCosts& costs) const {
    const double all_cost = decode_rows > 0 ? costs.ns(decode_rows) : 0;
    const StepShares shares = StepShares::of(ns, decode_rows, prefill_rows, all_cost);
    for (const Running& request : running) {
        if (!feels_gaps(*request)) continue;
        GapState& gap = request->gap;
        uint64_t own_decode = 0, own_prefill = 0;
        if (request->n_rows > 0 && request->in_prefill()) {
            own_prefill = shares.prefill_part_ns(request->n_rows);
        } else if (request->n_rows > 0) {
            const double ratio = all_cost > 0 ? costs.ns(request->n_rows) / all_cost : 0;
            own_decode = shares.decode_part_ns(request->n_rows, ratio);
        }
        gap.own_ns += own_decode + own_prefill;
        gap.other_decode_ns += shares.decode_ns - own_decode;
        gap.other_prefill_ns += shares.prefill_ns - own_prefill;
        if (prefill_rows == 0) continue;
        for (const Running& other : running) {
            if (other == request || other->n_rows == 0 || !other->in_prefill()) continue;
            const Stall stall{other->sequence, shares.prefill_part_ns(other->n_rows)};
            gap.stalled_by.add(stall.request, stall.ns);
            if (stall.ns > gap.worst.ns) gap.worst = stall;
            other->gap.stalled_others_ns += stall.ns;
        }
    }
}

void GapKeeper::resumed(RunningRequest& request, uint64_t waited_ns) const {
    GapState& gap = request.gap;
    if (!gap.open) return;
    gap.since = gap.since + (meanwhile_ - gap.at_preemption);
    gap.page_wait_ns += waited_ns;
}

GapParts GapKeeper::close(RunningRequest& request, uint64_t sampled_ns) const {
    GapState& gap = request.gap;
    GapParts parts;
    if (gap.open) {
        const Meanwhile passed = meanwhile_ - gap.since;
        parts.total_ns = elapsed_ns(gap.last_token_ns, sampled_ns);
        uint64_t left = parts.total_ns;
        const auto take = [&left](uint64_t ns) {
            const uint64_t taken = std::min(ns, left);
            left -= taken;
            return taken;
        };
        if (passed.evaluation_ns > 0) {
            gap.stalled_by.add(last_evaluation_, passed.evaluation_ns);
            if (passed.evaluation_ns > gap.worst.ns) gap.worst = {last_evaluation_, passed.evaluation_ns};
        }
        parts.page_wait_ns = take(gap.page_wait_ns);
        parts.own_compute_ns = take(gap.own_ns + gap.own_draft_ns);
        parts.other_prefill_ns = take(gap.other_prefill_ns + passed.evaluation_ns);
        parts.other_decode_ns =
            take(gap.other_decode_ns + passed.draft_ns - std::min(passed.draft_ns, gap.own_draft_ns));
        parts.callback_ns = take(passed.callback_ns);
        parts.other_engines_ns = take(passed.other_engines_ns);
        parts.scheduler_ns = left;
        parts.worst = {gap.worst.request, std::min(gap.worst.ns, parts.other_prefill_ns)};
    }
    gap.open = true;
    gap.last_token_ns = std::max(gap.last_token_ns, sampled_ns);
    gap.since = meanwhile_;
    gap.own_ns = gap.other_prefill_ns = gap.other_decode_ns = gap.own_draft_ns = gap.page_wait_ns = 0;
    gap.worst = {};
    return parts;
}

}  // namespace takt
