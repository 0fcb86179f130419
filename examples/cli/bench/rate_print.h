// Results of rate tests on stdout, as they come: text, JSON lines, CSV or a Markdown table.
#pragma once

#include <string>

#include "bench/bench_options.h"
#include "report.h"

namespace cli {

class RatePrinter {
public:
    explicit RatePrinter(const BenchOptions& options);
    // threads: as many as there are values of -t, for the title.
    void begin(const Json& conditions, const std::string& threads) const;
    // versus: the second side's options; empty: the first side's result.
    void result(const Json& line, const std::string& versus = "") const;
    void comparison(const Json& comparison) const;

private:
    std::string row(const std::vector<std::string>& cells) const;
    const BenchOptions& options_;
    bool many_threads_;
};

}  // namespace cli
