// takt bench without a scenario: prefill and decode rates of all combinations, alone or turn about with a
// second set of options.
#pragma once

#include "bench/bench_options.h"

namespace cli {

int run_rates(const BenchOptions& options);

}  // namespace cli
