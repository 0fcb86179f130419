// TTFT and E2E are broken by time alone, ITL by a token, TPOT at the end or as soon as it can't be kept any
// more.
#include "engine/slo_watch.h"

#include <algorithm>
#include <cmath>

namespace takt {

void SloWatch::tell(RunningRequest& request, Bound bound, uint64_t value_ns, uint64_t at_ns,
                    uint64_t token_index) {
    if ((request.told_broken & bit(bound)) != 0) return;
    request.told_broken |= bit(bound);
    const uint64_t bound_ns = request.slo().bound_ns(bound);
    callback_ns_ += listener_.tell({request.sequence, bound, bound_ns, value_ns, at_ns, token_index});
}

uint64_t SloWatch::look(RunningRequest& request, uint64_t now_ns) {
    const Slo& slo = request.slo();
    if (!slo.has_bounds() || request.finished) return 0;
    const uint64_t begin_ns = request.timeline().submitted_ns;
    const uint64_t so_far = elapsed_ns(begin_ns, now_ns);
    const auto check = [&](Bound bound) {
        const uint64_t bound_ns = slo.bound_ns(bound);
        if (bound_ns == 0 || (request.told_broken & bit(bound)) != 0) return;
        if (so_far > bound_ns) return tell(request, bound, so_far, now_ns, request.n_generated());
        const uint64_t last_good = begin_ns + bound_ns;
        if (last_good >= begin_ns && last_good != UINT64_MAX) next_ns_ = std::min(next_ns_, last_good + 1);
    };
    if (!request.gap.open && request.state->options().max_tokens > 0) check(Bound::ttft);
    check(Bound::e2e);
    return take_callback_ns();
}

uint64_t SloWatch::tokens_came(RunningRequest& request, uint64_t gap_ns, uint32_t n_tokens,
                               uint64_t sampled_ns) {
    const Slo& slo = request.slo();
    if (!slo.has_bounds() || n_tokens == 0) return 0;
    const Timeline& timeline = request.timeline();
    const uint64_t so_far = elapsed_ns(timeline.submitted_ns, sampled_ns);
    const uint64_t first_index = request.n_generated() - n_tokens;
    const auto tell_now = [&](Bound bound, uint64_t value_ns) {
        tell(request, bound, value_ns, sampled_ns, first_index);
    };
    if (first_index == 0) {
        if (slo.ttft_ns != 0 && so_far > slo.ttft_ns) tell_now(Bound::ttft, so_far);
    } else {
        // By itl_ns more than n_tokens times, without rounding.
        if (slo.itl_ns != 0 && gap_ns / n_tokens >= slo.itl_ns && gap_ns > slo.itl_ns * n_tokens)
            tell_now(Bound::itl, (gap_ns + n_tokens - 1) / n_tokens);
        // Fewer tokens than max_tokens only make it longer.
        const uint32_t most = request.state->options().max_tokens;
        const StepStamp& first = timeline.steps.front();
        if (slo.tpot_ns != 0 && most > first.n_tokens) {
            const uint64_t at_best = elapsed_ns(first.sampled_ns, sampled_ns) / (most - first.n_tokens);
            if (at_best > slo.tpot_ns) tell_now(Bound::tpot, at_best);
        }
    }
    if (slo.e2e_ns != 0 && so_far > slo.e2e_ns) tell_now(Bound::e2e, so_far);
    return take_callback_ns();
}

uint64_t SloWatch::ended(RunningRequest& request, const TimingSummary& summary, bool unfinished,
                         uint64_t end_ns) {
    if (!request.slo().has_bounds()) return 0;
    const uint32_t broken = broken_bounds(summary, request.slo(), unfinished);
    // The one that didn't come, or the last one.
    const uint64_t n_generated = request.n_generated();
    const uint64_t token_index = unfinished ? n_generated : n_generated - std::min<uint64_t>(n_generated, 1);
    const auto check = [&](Bound bound, double value_ns) {
        if ((broken & bit(bound)) != 0)
            tell(request, bound, static_cast<uint64_t>(std::ceil(value_ns)), end_ns, token_index);
    };
    check(Bound::ttft, static_cast<double>(summary.ttft_ns.value_or(summary.e2e_ns)));
    check(Bound::tpot, summary.tpot_ns.value_or(0));
    check(Bound::itl, std::max(summary.longest_itl_ns.value_or(0),
                               unfinished ? static_cast<double>(summary.finish_ns) : 0));
    check(Bound::e2e, static_cast<double>(summary.e2e_ns));
    return take_callback_ns();
}

}  // namespace takt
