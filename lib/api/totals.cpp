// Counters as they are, rates as rates_of() has them.
#include "api/totals.h"

#include <algorithm>
#include <iterator>

#include "api/slo.h"

namespace takt::api {
namespace {

static_assert(kFinishReasons <= std::size(takt_totals{}.finished));
static_assert(kBounds == std::size(takt_totals{}.slo_broken));

void fill_counters(const Totals& from, takt_totals& out) {
    std::ranges::copy(from.finished, out.finished);
    out.shed = from.shed;
    out.prompt_tokens = from.prompt_tokens;
    out.prompt_tokens_computed = from.prompt_tokens_computed;
    out.prompt_tokens_cached = from.prompt_tokens_cached;
    out.generated_tokens = from.generated_tokens;
    out.n_steps = from.n_steps;
    out.n_preemptions = from.n_preemptions;
    out.n_slides = from.n_slides;
    out.n_draft_steps = from.n_draft_steps;
    out.drafted_tokens = from.drafted_tokens;
    out.accepted_tokens = from.accepted_tokens;
    out.step_ns = from.step_ns;
    out.prefill_step_ns = from.prefill_step_ns;
    out.decode_step_ns = from.decode_step_ns;
    out.draft_ns = from.draft_ns;
    out.read_bytes = from.read_bytes;
    out.operations = from.product_operations + from.attention_operations;
    out.gaps = to_c(GapParts{from.gaps, {}});
    out.slo_good = from.slo_good;
    out.slo_missed = from.slo_missed;
    std::ranges::copy(from.slo_broken, out.slo_broken);
    out.slo_failed = from.slo_failed;
    out.good_tokens = from.good_tokens;
}

void fill_rates(const Rates& from, takt_totals& out) {
    out.attainment = from.attainment;
    out.attainment_low = from.attainment_low;
    out.attainment_high = from.attainment_high;
    out.goodput_requests_per_second = from.goodput_requests_per_second;
    out.goodput_tokens_per_second = from.goodput_tokens_per_second;
    out.smooth_goodput = from.smooth_goodput;
    out.smooth_goodput_floored = from.smooth_goodput_floored;
    out.prefill_tokens_per_second = from.prefill_tokens_per_second;
    out.decode_tokens_per_second = from.decode_tokens_per_second;
    out.output_tokens_per_second = from.output_tokens_per_second;
    out.requests_per_second = from.requests_per_second;
    out.share_of_read = from.share_of_read;
    out.share_of_int8 = from.share_of_int8;
    out.joules = from.joules;
    out.joules_per_token = from.joules_per_token;
}

}  // namespace

takt_totals make_totals(const Statistics& statistics, const Origin& origin) {
    takt_totals out{};
    out.begin_ns = statistics.begin_ns;
    out.end_ns = statistics.end_ns;
    fill_counters(statistics.totals, out);
    fill_rates(rates_of(statistics, origin), out);
    return out;
}

}  // namespace takt::api
