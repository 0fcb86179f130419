// What a scenario measured, as one JSON object or as text.
#pragma once

#include <string>
#include <vector>

#include "bench/bench_options.h"
#include "bench/issue.h"
#include "report.h"

namespace cli {

// What of the options, defaults filled in, the report repeats.
struct ScenarioRun {
    std::string scenario, lengths, slo_name;
    Slo slo;
    SmoothRule smooth;
    PercentileRule rule = PercentileRule::nearest_rank;
    double rate = 0;  // 0: none
    uint64_t seed = 0;
    uint32_t sequences = 1;  // a query of multi-stream, else requests that run at once
    std::vector<RequestRecord> records;
};

// Times are in nanoseconds and null where undefined.
//   scenario, lengths, sequences, rate, seed
//   requests = completed + failed + cancelled, error (the first sentence of a failure)
//   seconds (first schedule to last end), requests_per_second, prompt_tokens, output_tokens,
//   output_tokens_per_second
//   percentile_rule, and {n, p50, p90, p95, p99, max, p99_mark ("n<100" or null)} of each:
//     ttft_ns (from the scheduled time), ttft_takt_ns (from the submit call), tpot_ns (one a request), itl_ns
//     (one a token), step_gap_ns (one a step), e2e_ns (from the scheduled time), issue_delay_ns, and
//     query_ns (from the scheduled time to the end of the last of a query)
//   adj {ttft_ns, tpot_ns, e2e_ns}: the same with failed requests as infinitely late, which is null
//   slo {name, ttft_ns, tpot_ns, itl_ns, e2e_ns}, one_token_tpot ("passes"), good, judged, attainment,
//   attainment_low, attainment_high (Wilson, 95 %), goodput_requests_per_second, goodput_tokens_per_second
//   smooth_goodput {tokens_per_second, seconds_per_token, alpha_tokens_per_second, f, origin, floor_zero}
//   early_stopping {ttft, tpot or query}: {percentile, confidence, queries, over, valid, more_queries,
//     estimate_ns (without a bound)}
//   mlperf {percentile, ttft_ns, ttft_met, tpot_ns, tpot_met} or {percentile, query_ns}, LoadGen's rule
//   valid: nothing failed, early stopping says valid, the targets are met
Json scenario_json(const ScenarioRun& run);
std::string scenario_text(const Json& report);

// The distribution of TTFT and step gap, with their bounds.
std::string scenario_svg(const ScenarioRun& run, const std::string& title);

}  // namespace cli
