// takt size cost, breakeven: in US dollars.
#include <memory>

#include <fmt/format.h>

#include "failure.h"
#include "numbers/cost.h"
#include "size.h"

namespace cli {
namespace {

struct CostOptions {
    std::optional<double> usd_per_hour, cost_per_million, rate, output_rate, good_output_rate;
    double price = 0, rent = 0, running = 0;
    bool json = false;
};

// The same money over three counts of tokens: a figure without its count says little.
int cost(const CostOptions& options) {
    struct Kind {
        const char* name;
        const char* note;
        std::optional<double> rate;
    };
    const Kind kinds[] = {
        {"all", "over input and output tokens", options.rate},
        {"output", "over output tokens only", options.output_rate},
        {"slo_output", "over output tokens of requests that met their SLO", options.good_output_rate}};
    if (!options.rate && !options.output_rate && !options.good_output_rate)
        throw WrongUsage("cost needs a rate: --rate, --output-rate or --slo-output-rate.");
    if (options.usd_per_hour.has_value() == options.cost_per_million.has_value())
        throw WrongUsage("cost needs one of --usd-per-hour and --cost-per-million.");
    const auto above = [](const std::optional<double>& part, const std::optional<double>& whole) {
        return part && whole && *part > *whole;
    };
    if (above(options.output_rate, options.rate) || above(options.good_output_rate, options.rate) ||
        above(options.good_output_rate, options.output_rate))
        throw WrongUsage(
            "A part of the tokens can't come faster than all: --rate, --output-rate, --slo-output-rate.");
    SizeAnswer answer;
    for (const Kind& kind : kinds) {
        if (options.usd_per_hour) {
            answer.add(
                fmt::format("usd_per_million_{}_tokens", kind.name),
                kind.rate ? std::optional(cost_per_million(*options.usd_per_hour, *kind.rate)) : std::nullopt,
                kind.rate ? kind.note : std::string(kind.note) + "; that rate isn't given");
        } else if (kind.rate) {
            answer.add(fmt::format("usd_per_hour_{}_tokens", kind.name),
                       usd_per_hour(*options.cost_per_million, *kind.rate), kind.note);
        }
    }
    answer.print(options.json);
    return 0;
}

int breakeven(const CostOptions& options) {
    const std::optional<double> hours = breakeven_hours(options.price, options.rent, options.running);
    SizeAnswer()
        .add("hours", hours,
             hours ? "price / (rent - running cost)" : "running one's own costs as much as rent")
        .add("days", hours ? std::optional(*hours / 24) : std::nullopt, "of continuous use")
        .print(options.json);
    return 0;
}

}  // namespace

Command add_size_cost(CLI::App& size) {
    auto options = std::make_shared<CostOptions>();
    CLI::App* command = size.add_subcommand("cost", "Cost per million tokens, or the price behind one");
    add_amount(*command, "--usd-per-hour", options->usd_per_hour, "Price of the machine", Least::zero);
    add_amount(*command, "--cost-per-million", options->cost_per_million, "For the price that gives it",
               Least::zero);
    add_amount(*command, "--rate", options->rate, "Tokens per second, input and output");
    add_amount(*command, "--output-rate", options->output_rate, "Output tokens per second");
    add_amount(*command, "--slo-output-rate", options->good_output_rate,
               "Output tokens per second of requests that met their SLO");
    command->add_flag("--json", options->json, "One JSON object");
    return {command, [options] { return cost(*options); }};
}

Command add_size_breakeven(CLI::App& size) {
    auto options = std::make_shared<CostOptions>();
    CLI::App* command = size.add_subcommand("breakeven", "Hours after which buying was cheaper than renting");
    add_amount(*command, "--price", options->price, "US dollars of the purchase")->required();
    add_amount(*command, "--rent", options->rent, "US dollars an hour")->required();
    add_amount(*command, "--running", options->running, "US dollars an hour of running one's own",
               Least::zero)
        ->capture_default_str();
    command->add_flag("--json", options->json, "One JSON object");
    return {command, [options] { return breakeven(*options); }};
}

}  // namespace cli
