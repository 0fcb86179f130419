// takt bench --scenario: traffic after MLPerf's scenarios.
#pragma once

#include "bench/bench_options.h"

namespace cli {

void add_scenario(CLI::App& app, ScenarioOptions& options);
int run_scenario(const BenchOptions& options);

}  // namespace cli
