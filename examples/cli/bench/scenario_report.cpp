// Samples of all requests to percentiles, shares and verdicts.
#include "bench/scenario_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "numbers/early_stopping.h"

namespace cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kStreamPercentile = 0.9, kQueryPercentile = 0.99, kTargetPercentile = 0.99;

using Samples = std::vector<double>;
using Time = std::function<std::optional<double>(const RequestRecord&)>;

double between(uint64_t begin_ns, uint64_t end_ns) {
    return end_ns > begin_ns ? static_cast<double>(end_ns - begin_ns) : 0;
}

std::optional<double> ttft(const RequestRecord& r) {
    return r.token_ns.empty() ? std::nullopt
                              : std::optional<double>(between(r.scheduled_ns, r.token_ns.front()));
}
std::optional<double> own_ttft(const RequestRecord& r) {
    return r.token_ns.empty() ? std::nullopt : std::optional<double>(static_cast<double>(r.timing.ttft_ns));
}
std::optional<double> tpot(const RequestRecord& r) {
    const bool defined = !r.token_ns.empty() && std::isfinite(r.timing.tpot_ns);
    return defined ? std::optional<double>(r.timing.tpot_ns) : std::nullopt;
}
std::optional<double> e2e(const RequestRecord& r) {
    return between(r.scheduled_ns, r.ended_ns);
}
std::optional<double> issue_delay(const RequestRecord& r) {
    return between(r.scheduled_ns, r.submitted_ns);
}

bool completed(const RequestRecord& r) {
    return r.end == RequestEnd::completed;
}

Samples sorted_samples(const std::vector<RequestRecord>& records, const Time& time) {
    Samples samples;
    for (const RequestRecord& r : records) {
        if (!completed(r)) continue;
        if (const std::optional<double> value = time(r)) samples.push_back(*value);
    }
    std::sort(samples.begin(), samples.end());
    return samples;
}

// One sample a step, or with per_token one a token of its share of the gap.
Samples gaps(const std::vector<RequestRecord>& records, bool per_token) {
    Samples samples;
    for (const RequestRecord& r : records) {
        for (std::size_t j = 1; completed(r) && j < r.step_ns.size(); ++j) {
            const double gap = between(r.step_ns[j - 1], r.step_ns[j]);
            const uint32_t k = r.step_tokens[j];
            samples.insert(samples.end(), per_token ? k : 1, per_token ? gap / k : gap);
        }
    }
    std::sort(samples.begin(), samples.end());
    return samples;
}

// A query's time is that of its last request; one with a request that failed has none.
Samples query_times(const std::vector<RequestRecord>& records) {
    std::map<uint64_t, double> times;
    for (const RequestRecord& r : records) {
        double& time = times[r.query];
        time = std::max(time, completed(r) ? *e2e(r) : kInfinity);
    }
    Samples samples;
    for (const auto& [query, time] : times) samples.push_back(time);
    std::sort(samples.begin(), samples.end());
    return samples;
}

Json finite_or_null(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json percentiles_json(const Samples& sorted, PercentileRule rule) {
    Json json;
    json["n"] = sorted.size();
    for (const auto& [key, p] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}})
        json[key] = finite_or_null(percentile(sorted, p, rule));
    json["max"] = sorted.empty() ? Json(nullptr) : finite_or_null(sorted.back());
    json["p99_mark"] = sorted.size() < 100 ? Json("n<100") : Json(nullptr);
    return json;
}

Samples with_failed(Samples sorted, uint64_t n_failed) {
    sorted.insert(sorted.end(), n_failed, kInfinity);
    return sorted;
}

uint64_t count(const ScenarioRun& run, RequestEnd end) {
    return static_cast<uint64_t>(std::count_if(run.records.begin(), run.records.end(),
                                               [&](const RequestRecord& r) { return r.end == end; }));
}

double seconds_of(const ScenarioRun& run) {
    uint64_t begin = UINT64_MAX, end = 0;
    for (const RequestRecord& r : run.records) {
        begin = std::min(begin, r.scheduled_ns);
        end = std::max(end, r.ended_ns);
    }
    return between(begin, end) / 1e9;
}

Json rate_json(double amount, double seconds) {
    return seconds > 0 ? Json(amount / seconds) : Json(nullptr);
}

RequestTimes times_of(const RequestRecord& r) {
    RequestTimes times;
    times.end = r.end;
    times.ttft_ns = ttft(r);
    times.tpot_ns = tpot(r);
    if (!r.token_ns.empty() && r.timing.itl_ns.count > 0) times.longest_itl_ns = r.timing.itl_ns.max;
    times.e2e_ns = *e2e(r);
    times.n_tokens = r.token_ns.size();
    return times;
}

void add_counts(Json& json, const ScenarioRun& run, double seconds) {
    json["requests"] = run.records.size();
    json["completed"] = count(run, RequestEnd::completed);
    json["failed"] = count(run, RequestEnd::failed);
    json["cancelled"] = count(run, RequestEnd::cancelled);
    const auto failed = std::find_if(run.records.begin(), run.records.end(),
                                     [](const RequestRecord& r) { return r.end == RequestEnd::failed; });
    json["error"] = failed == run.records.end() ? Json(nullptr) : Json(failed->message);
    json["seconds"] = seconds;
    json["requests_per_second"] = rate_json(json["completed"].get<double>(), seconds);
    uint64_t prompt = 0, output = 0;
    for (const RequestRecord& r : run.records) {
        prompt += r.timing.prompt_tokens;
        output += r.token_ns.size();
    }
    json["prompt_tokens"] = prompt;
    json["output_tokens"] = output;
    json["output_tokens_per_second"] = rate_json(static_cast<double>(output), seconds);
}

void add_times(Json& json, const ScenarioRun& run) {
    const Samples ttfts = sorted_samples(run.records, ttft), tpots = sorted_samples(run.records, tpot),
                  e2es = sorted_samples(run.records, e2e);
    json["percentile_rule"] = name_of(run.rule);
    json["ttft_ns"] = percentiles_json(ttfts, run.rule);
    json["ttft_takt_ns"] = percentiles_json(sorted_samples(run.records, own_ttft), run.rule);
    json["tpot_ns"] = percentiles_json(tpots, run.rule);
    json["itl_ns"] = percentiles_json(gaps(run.records, true), run.rule);
    json["step_gap_ns"] = percentiles_json(gaps(run.records, false), run.rule);
    json["e2e_ns"] = percentiles_json(e2es, run.rule);
    json["issue_delay_ns"] = percentiles_json(sorted_samples(run.records, issue_delay), run.rule);
    json["query_ns"] = percentiles_json(query_times(run.records), run.rule);
    const uint64_t n_failed = count(run, RequestEnd::failed);
    json["adj"]["ttft_ns"] = percentiles_json(with_failed(ttfts, n_failed), run.rule);
    json["adj"]["tpot_ns"] = percentiles_json(with_failed(tpots, n_failed), run.rule);
    json["adj"]["e2e_ns"] = percentiles_json(with_failed(e2es, n_failed), run.rule);
}

void add_objectives(Json& json, const ScenarioRun& run, double seconds) {
    const auto bound = [](uint64_t ns) { return ns == 0 ? Json(nullptr) : Json(ns); };
    json["slo"] = nullptr;
    for (const char* key : {"one_token_tpot", "good", "judged", "attainment", "attainment_low",
                            "attainment_high", "goodput_requests_per_second", "goodput_tokens_per_second"})
        json[key] = nullptr;
    if (!run.slo.any()) return;
    json["slo"] = {{"name", run.slo_name},
                   {"ttft_ns", bound(run.slo.ttft_ns)},
                   {"tpot_ns", bound(run.slo.tpot_ns)},
                   {"itl_ns", bound(run.slo.itl_ns)},
                   {"e2e_ns", bound(run.slo.e2e_ns)}};
    std::vector<RequestTimes> times;
    std::transform(run.records.begin(), run.records.end(), std::back_inserter(times), times_of);
    const Attainment result = attainment(times, run.slo);
    json["one_token_tpot"] = "passes";
    json["good"] = result.n_good;
    json["judged"] = result.n_judged;
    if (result.share()) {
        const Interval bounds = wilson_95(result.n_good, result.n_judged);
        json["attainment"] = *result.share();
        json["attainment_low"] = bounds.low;
        json["attainment_high"] = bounds.high;
    }
    json["goodput_requests_per_second"] = rate_json(static_cast<double>(result.n_good), seconds);
    json["goodput_tokens_per_second"] = rate_json(static_cast<double>(result.good_tokens), seconds);
}

void add_smooth(Json& json, const ScenarioRun& run, double seconds) {
    std::vector<TokenTimes> requests;
    for (const RequestRecord& r : run.records) {
        TokenTimes times;
        for (const uint64_t ns : r.token_ns) times.token_s.push_back(between(r.scheduled_ns, ns) / 1e9);
        times.ended_s = between(r.scheduled_ns, r.ended_ns) / 1e9;
        requests.push_back(std::move(times));
    }
    json["smooth_goodput"] = {
        {"tokens_per_second", finite_or_null(smooth_goodput(requests, seconds, run.smooth))},
        {"seconds_per_token", run.smooth.seconds_per_token},
        {"alpha_tokens_per_second", run.smooth.tokens_per_second},
        {"f", "max(0, l) in s"},
        {"origin", name_of(run.smooth.origin)},
        {"floor_zero", run.smooth.floor_zero}};
}

// Of n queries with so many over their bound.
Json bounded_json(uint64_t n, uint64_t n_over) {
    const uint64_t needed = early_stopping_queries(n_over, kTargetPercentile);
    return {{"percentile", kTargetPercentile},
            {"confidence", 0.99},
            {"queries", n},
            {"over", n_over},
            {"valid", n >= needed},
            {"more_queries", n >= needed ? 0 : needed - n},
            {"estimate_ns", nullptr}};
}

Json estimate_json(const Samples& sorted, double p) {
    const uint64_t needed = early_stopping_queries(1, p);
    const std::optional<uint64_t> rank = early_stopping_rank(sorted.size(), p);
    return {{"percentile", p},
            {"confidence", 0.99},
            {"queries", sorted.size()},
            {"over", nullptr},
            {"valid", rank.has_value()},
            {"more_queries", rank ? 0 : needed - sorted.size()},
            {"estimate_ns", rank ? finite_or_null(sorted[sorted.size() - *rank]) : Json(nullptr)}};
}

// A request that failed is over every bound, a time that is undefined over none.
uint64_t count_over(const ScenarioRun& run, const Time& time, uint64_t bound_ns) {
    return static_cast<uint64_t>(
        std::count_if(run.records.begin(), run.records.end(), [&](const RequestRecord& r) {
            return r.end == RequestEnd::failed || time(r).value_or(0) > static_cast<double>(bound_ns);
        }));
}

void add_targets(Json& json, const ScenarioRun& run) {
    Json &stopping = json["early_stopping"] = Json::object(), &mlperf = json["mlperf"] = Json::object();
    bool valid = count(run, RequestEnd::failed) == 0 && count(run, RequestEnd::completed) > 0;
    const auto hold = [&](const char* name, const Time& time, uint64_t bound_ns) {
        if (bound_ns == 0) return;
        stopping[name] = bounded_json(run.records.size(), count_over(run, time, bound_ns));
        const Samples all = with_failed(sorted_samples(run.records, time), count(run, RequestEnd::failed));
        const double value = percentile(all, kTargetPercentile, PercentileRule::loadgen);
        const bool met = all.empty() || value <= static_cast<double>(bound_ns);
        mlperf[std::string(name) + "_ns"] = finite_or_null(value);
        mlperf[std::string(name) + "_met"] = met;
        valid = valid && met && stopping[name]["valid"].get<bool>();
    };
    if (run.scenario == "server" || run.scenario == "interactive") {
        mlperf["percentile"] = kTargetPercentile;
        hold("ttft", ttft, run.slo.ttft_ns);
        hold("tpot", tpot, run.slo.tpot_ns);
    } else if (run.scenario != "offline") {
        const Samples queries = query_times(run.records);
        const double p = run.scenario == "single-stream" ? kStreamPercentile : kQueryPercentile;
        mlperf["percentile"] = p;
        mlperf["query_ns"] = finite_or_null(percentile(queries, p, PercentileRule::loadgen));
        stopping["query"] = estimate_json(queries, p);
        valid = valid && stopping["query"]["valid"].get<bool>();
    }
    json["valid"] = valid;
}

}  // namespace

Json scenario_json(const ScenarioRun& run) {
    const double seconds = seconds_of(run);
    Json json;
    json["scenario"] = run.scenario;
    json["lengths"] = run.lengths;
    json["sequences"] = run.sequences;
    json["rate"] = run.rate > 0 ? Json(run.rate) : Json(nullptr);
    json["seed"] = run.seed;
    add_counts(json, run, seconds);
    add_times(json, run);
    add_objectives(json, run, seconds);
    add_smooth(json, run, seconds);
    add_targets(json, run);
    return json;
}

}  // namespace cli
