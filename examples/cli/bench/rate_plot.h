// --plot of rate tests: samples and medians over whatever was swept.
#pragma once

#include <string>
#include <vector>

#include "report.h"

namespace cli {

struct PlotSide {
    std::string label;  // "" where there is one side, or of the first
    std::vector<Json> results;
};

// One panel for prefill and one for decode, as far as there are results.
void write_rate_plot(const std::string& path, const std::vector<PlotSide>& sides);

// Whole or not at all.
void write_plot(const std::string& path, const std::string& svg);

}  // namespace cli
