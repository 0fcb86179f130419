// Two results, or two files of them, with a verdict.
#pragma once

#include <string>

#include "bench/bench_options.h"
#include "report.h"

namespace cli {

// "compare" (prefill or decode), "tokens", "depth", "sequences", "confidence", "verdict" (of the second:
// "faster", "slower", "no difference", "too few repetitions"), "least_percent" (a smaller change is none),
// "ratio" (second / first), "ratio_low",
// "ratio_high" (null: unbounded), "p_value", "method" ("signed_rank" of pairs or "rank_sum"),
// "first_median", "second_median", "first_repetitions", "second_repetitions" and "differs", an object of
// [first, second] by condition.
Json comparison_json(const Json& first, const Json& second, double confidence, double least_percent);
std::string comparison_text(const Json& comparison);

// takt bench --compare A B
int run_compare(const BenchOptions& options);

}  // namespace cli
