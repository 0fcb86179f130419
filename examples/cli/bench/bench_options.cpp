// Flags of one side, on the command line or within --versus.
#include "bench/bench_options.h"

#include <fmt/format.h>

#include "failure.h"

namespace cli {

std::vector<std::string> thread_items(const SideOptions& options) {
    return split_list(options.common.threads);
}

void add_side(CLI::App& app, SideOptions& options, NeedsModel needs_model) {
    add_common(app, options.common, needs_model);
    add_number(app, "--chunk", options.chunk, "Rows of one step; default 512");
    app.add_option(
           "--slowdown", options.slowdown_percent,
           "Wait this many percent of a step's time behind it, to check that a comparison finds it; a "
           "prompt of one step isn't slowed down")
        ->check(real_number(0, 1000));
}

SideOptions second_side(const SideOptions& first, const std::string& text) {
    SideOptions second = first;
    second.common.json = false;
    CLI::App app;
    app.set_help_flag("");
    add_side(app, second, NeedsModel::no);
    try {
        app.parse(text);
    } catch (const CLI::ParseError& error) {
        throw WrongUsage(fmt::format("--versus: {}", error.what()));
    }
    if (second.common.json) throw WrongUsage("--versus: --json is for both sides.");
    if (thread_items(second).size() > 1 && second.common.threads != first.common.threads)
        throw WrongUsage("--versus: -t is one number.");
    return second;
}

}  // namespace cli
