// The columns of the tables are a promise: add at the end, never change.
#include "bench/rate_print.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bench/compare.h"
#include "bench/profile.h"
#include "system.h"

namespace cli {
namespace {

struct Spread {
    double median, low, high;
    std::size_t n;
};

Spread spread(const Json& line) {
    const auto rates = line.at("tokens_per_second").get<std::vector<double>>();
    const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
    return {line.at("median").get<double>(), *low, *high, rates.size()};
}

}  // namespace

RatePrinter::RatePrinter(const BenchOptions& options)
    : options_(options), many_threads_(thread_items(options.side).size() > 1) {}

std::string RatePrinter::row(const std::vector<std::string>& cells) const {
    const std::string line = fmt::format("{}", fmt::join(cells, options_.csv ? "," : " | "));
    return (options_.csv ? line : "| " + line + " |") + "\n";
}

void RatePrinter::begin(const Json& conditions, const std::string& threads) const {
    const auto text = [&](const char* key) { return conditions.at(key).get<std::string>(); };
    const std::string title = fmt::format("{} on {} ({}), {} threads, {}\n", text("model"), text("backend"),
                                          text("isa"), threads, text("cpu"));
    if (options_.side.common.json) return;
    if (!options_.csv) write_stdout(title + (options_.markdown ? "\n" : ""));
    if (!options_.csv && !options_.markdown) return;
    std::vector<std::string> columns = {"test", "tokens", "depth", "sequences", "median_tokens_per_second",
                                        "min",  "max"};
    if (many_threads_) columns.emplace_back("threads");
    std::string head = row(columns);
    if (options_.markdown) {
        head += "|";
        for (std::size_t i = 0; i < columns.size(); ++i) head += "---|";
        head += "\n";
    }
    write_stdout(head);
}

void RatePrinter::result(const Json& line, const std::string& versus) const {
    if (options_.side.common.json) {
        Json told = line;
        if (!versus.empty()) told["versus"] = versus;
        write_stdout(json_line(told));
        return;
    }
    const Spread s = spread(line);
    const auto number = [&](const char* key) { return line.at(key).get<uint64_t>(); };
    const auto test = line.at("test").get<std::string>();
    if (options_.csv || options_.markdown) {
        std::vector<std::string> cells = {test,
                                          fmt::to_string(number("tokens")),
                                          fmt::to_string(number("depth")),
                                          fmt::to_string(number("sequences")),
                                          fmt::format("{:.2f}", s.median),
                                          fmt::format("{:.2f}", s.low),
                                          fmt::format("{:.2f}", s.high)};
        if (many_threads_) cells.push_back(fmt::to_string(number("threads")));
        write_stdout(row(cells));
        return;
    }
    const std::string threads = many_threads_ ? fmt::format(", {} threads", number("threads")) : "";
    std::string text = fmt::format(
        "{:<8} {:>6} tokens at depth {:>6}, {} sequences{}: {:>10.2f} tokens/s ({:.2f} to {:.2f}, {} "
        "repetitions)",
        test, number("tokens"), number("depth"), number("sequences"), threads, s.median, s.low, s.high, s.n);
    text += versus.empty() ? "\n" : fmt::format(" with {}\n", versus);
    if (options_.roofline && line.contains("bytes_per_token")) text += roofline_text(line);
    write_stdout(text);
}

void RatePrinter::comparison(const Json& comparison) const {
    write_stdout(options_.side.common.json ? json_line(comparison) : comparison_text(comparison));
}

}  // namespace cli
