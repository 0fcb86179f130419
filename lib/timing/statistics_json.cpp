// Statistics as one JSON object. The keys are a promise: add, never change.
#include "timing/statistics.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/json_writer.h"

namespace takt {
namespace {

void write_histogram(JsonWriter& json, const Metric& metric, const Histogram& histogram) {
    json.key(metric.name);
    json.begin_object();
    json.member("unit", metric.is_time ? "ns" : "tokens");
    json.member("n", histogram.count());
    json.member("sum", histogram.sum());
    json.member("mean", histogram.mean());
    json.member("p50", histogram.percentile(0.5));
    json.member("p90", histogram.percentile(0.9));
    json.member("p95", histogram.percentile(0.95));
    json.member("p99", histogram.percentile(0.99));
    if (histogram.count() == 0) {
        json.key("max");
        json.null();
    } else {
        json.member("max", histogram.highest());
    }
    json.end_object();
}

// The same with each request that was let down as one that took for ever: null is infinity.
void write_adjusted(JsonWriter& json, std::string_view name, const Histogram& histogram,
                    uint64_t n_let_down) {
    const uint64_t n = histogram.count() + n_let_down;
    json.key(name);
    json.begin_object();
    json.member("n", n);
    json.member("n_infinite", n_let_down);
    for (const auto& [key, p] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}}) {
        json.key(key);
        const uint64_t place = n == 0 ? 0 : percentile_place(n, p, PercentileRule::nearest_rank).below;
        place < histogram.count() ? json.value(histogram.value_at(place)) : json.null();
    }
    json.end_object();
}

void write_adjusted(JsonWriter& json, const Statistics& statistics) {
    const Totals& t = statistics.totals;
    uint64_t n_let_down = t.shed;
    for (uint32_t r = 1; r < kFinishReasons; ++r) {
        if (outcome_of(static_cast<FinishReason>(r)) == RequestOutcome::failed) n_let_down += t.finished[r];
    }
    json.key("adjusted");
    json.begin_object();
    write_adjusted(json, "ttft", histogram_of(statistics, metrics().front()), n_let_down);
    write_adjusted(json, "e2e", statistics[Series::e2e], n_let_down);
    json.end_object();
}

void write_stalls(JsonWriter& json, const StallList& stalls) {
    std::array<Stall, StallList::kMost> sorted = stalls.entries();
    std::ranges::sort(sorted, std::ranges::greater(), &Stall::ns);
    json.key("stalled_others");
    json.begin_array();
    for (const Stall& stall : sorted) {
        if (stall.ns == 0) continue;
        json.begin_object();
        json.member("request_id", stall.request);
        json.member("ns", stall.ns);
        json.end_object();
    }
    json.end_array();
}

template <typename Values>
void write_list(JsonWriter& json, std::string_view name, const Values& values) {
    json.key(name);
    json.begin_array();
    for (const uint64_t value : values) json.value(value);
    json.end_array();
}

void write_totals(JsonWriter& json, const Totals& t) {
    json.key("totals");
    json.begin_object();
    json.key("finished");
    json.begin_object();
    for (uint32_t r = 1; r < kFinishReasons; ++r)
        json.member(finish_reason_name(static_cast<FinishReason>(r)), t.finished[r]);
    json.end_object();
    for (const TotalsField& field : totals_fields()) json.member(field.name, t.*field.field);
    write_list(json, "drafted_at", t.drafted_at);
    write_list(json, "accepted_at", t.accepted_at);
    json.key("slo_broken");
    json.begin_object();
    for (uint32_t b = 0; b < kBounds; ++b) json.member(bound_name(static_cast<Bound>(b)), t.slo_broken[b]);
    json.end_object();
    json.end_object();
}

void write_gaps(JsonWriter& json, const Totals& t) {
    json.key("step_gap_causes_ns");
    json.begin_object();
    json.member("total", t.gaps.total_ns);
    for (const GapCause& cause : kGapCauses) json.member(cause.name, t.gaps.*cause.ns);
    json.end_object();
}

void write_promises(JsonWriter& json, const Rates& rates, const Totals& t, const Origin& origin) {
    json.key("slo");
    json.begin_object();
    json.member("n", rates.judged);
    json.member("good", t.slo_good);
    json.member("attainment", rates.attainment);
    json.member("attainment_low_95", rates.attainment_low);
    json.member("attainment_high_95", rates.attainment_high);
    json.member("goodput_requests_per_second", rates.goodput_requests_per_second);
    json.member("goodput_tokens_per_second", rates.goodput_tokens_per_second);
    json.member("one_token_rule", "a request without TPOT keeps its bound");
    json.end_object();
    json.key("smooth_goodput");
    json.begin_object();
    json.member("tokens_per_second", rates.smooth_goodput);
    json.member("tokens_per_second_floored", rates.smooth_goodput_floored);
    json.member("seconds_per_token", origin.smooth.seconds_per_token);
    json.member("alpha", origin.smooth.alpha);
    json.member("f", "max(0, l)");
    json.member("origin", origin.smooth.from_first_token ? "first_token" : "arrival");
    json.end_object();
}

void write_rates(JsonWriter& json, const Rates& rates, const Origin& origin) {
    json.key("rates");
    json.begin_object();
    json.member("prefill_tokens_per_second", rates.prefill_tokens_per_second);
    json.member("decode_tokens_per_second", rates.decode_tokens_per_second);
    json.member("output_tokens_per_second", rates.output_tokens_per_second);
    json.member("requests_per_second", rates.requests_per_second);
    json.member("prefix_hit_rate", rates.prefix_hit_rate);
    json.member("draft_acceptance_rate", rates.draft_acceptance_rate);
    json.member("acceptance_length", rates.acceptance_length);
    json.end_object();
    json.key("roofline");
    json.begin_object();
    json.member("read_bytes_per_second", rates.read_bytes_per_second);
    json.member("operations_per_second", rates.operations_per_second);
    json.member("share_of_read", rates.share_of_read);
    json.member("share_of_int8", rates.share_of_int8);
    json.end_object();
    json.key("energy");
    json.begin_object();
    json.member("joules", rates.joules);
    json.member("joules_per_token", rates.joules_per_token);
    json.key("method");
    origin.energy_is_known ? json.value(origin.energy_method) : json.null();
    json.end_object();
}

// An object; of several engines a list.
void write_conditions(JsonWriter& json, const std::vector<std::string>& conditions) {
    if (conditions.empty()) return json.null();
    if (conditions.size() == 1) return json.json(conditions.front());
    json.begin_array();
    for (const std::string& one : conditions) json.json(one);
    json.end_array();
}

void write_gauges(JsonWriter& json, const Gauges& g) {
    json.key("now");
    json.begin_object();
    json.member("n_running", g.n_running);
    json.member("n_waiting", g.n_waiting);
    json.member("max_sequences", g.max_sequences);
    json.member("pages_in_use", g.pages_in_use);
    json.member("pages_cached", g.pages_cached);
    json.member("pages_total", g.pages_total);
    json.member("page_tokens", g.page_tokens);
    json.member("page_waste", g.page_waste);
    json.end_object();
}

}  // namespace

std::string statistics_json(const Statistics& statistics, const Origin& origin) {
    const Rates rates = rates_of(statistics, origin);
    JsonWriter json;
    json.begin_object();
    json.member("model_name", origin.model_name);
    json.member("engine", origin.engine);
    json.member("seconds", statistics.seconds());
    json.member("percentile_rule", "nearest rank, within 0.4 %");
    json.key("metrics");
    json.begin_object();
    for (const Metric& metric : metrics()) write_histogram(json, metric, histogram_of(statistics, metric));
    json.end_object();
    write_adjusted(json, statistics);
    write_rates(json, rates, origin);
    write_promises(json, rates, statistics.totals, origin);
    write_gaps(json, statistics.totals);
    write_stalls(json, statistics.stalled_others);
    write_totals(json, statistics.totals);
    write_gauges(json, statistics.gauges);
    json.key("conditions");
    write_conditions(json, origin.conditions);
    json.end_object();
    return json.take();
}

}  // namespace takt
