// takt_slo to the library's own, and what a timing says of it.
#pragma once

#include <optional>

#include "api/struct_copy.h"
#include "takt/takt.h"
#include "timing/slo.h"

namespace takt::api {

inline takt_slo default_slo() {
    return TAKT_SLO_INIT;
}

// NULL: nothing.
inline Result<std::optional<Slo>> read_slo(const takt_slo* given) {
    if (given == nullptr) return std::optional<Slo>();
    const Result<takt_slo> read = read_struct(given, "slo", default_slo());
    if (!read.ok()) return read.status();
    return std::optional<Slo>(Slo{read->ttft_ns, read->tpot_ns, read->itl_ns, read->e2e_ns});
}

inline takt_slo to_c(const Slo& slo) {
    return {sizeof(takt_slo), slo.ttft_ns, slo.tpot_ns, slo.itl_ns, slo.e2e_ns};
}

inline takt_gap to_c(const GapParts& gap) {
    return {gap.total_ns,      gap.own_compute_ns, gap.other_prefill_ns, gap.other_decode_ns,
            gap.page_wait_ns,  gap.callback_ns,    gap.other_engines_ns, gap.scheduler_ns,
            gap.worst.request, gap.worst.ns};
}

// Of a timing as it is told.
struct Verdict {
    uint32_t verdict = TAKT_SLO_NOT_JUDGED, broken = 0;
};
Verdict judge_timing(const takt_timing& timing, const Slo& slo);

static_assert(TAKT_BOUND_TTFT == bit(Bound::ttft) && TAKT_BOUND_TPOT == bit(Bound::tpot) &&
              TAKT_BOUND_ITL == bit(Bound::itl) && TAKT_BOUND_E2E == bit(Bound::e2e));
static_assert(TAKT_SLO_GOOD == static_cast<int>(SloVerdict::good) &&
              TAKT_SLO_MISSED == static_cast<int>(SloVerdict::missed));

}  // namespace takt::api
