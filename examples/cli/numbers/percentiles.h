// Percentiles of sorted samples by the three rules that benchmarks use.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace cli {

enum class PercentileRule {
    nearest_rank,  // x[ceil(n p) - 1], takt's own
    loadgen,       // x[floor(n p)], MLPerf's
    linear,        // between the neighbours of (n - 1) p, numpy's
};

std::optional<PercentileRule> percentile_rule(std::string_view name);
const char* name_of(PercentileRule rule);

// sorted: ascending, +infinity allowed; p in (0, 1). NaN of none.
double percentile(const std::vector<double>& sorted, double p, PercentileRule rule);

}  // namespace cli
