// takt size speculation, factors.
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "failure.h"
#include "numbers/published.h"
#include "numbers/speculation.h"
#include "size.h"

namespace cli {
namespace {

struct FactorOptions {
    std::optional<double> alpha, gamma;
    double c = 0;
    std::vector<uint64_t> histogram;
    std::optional<double> amount;
    bool json = false;
};

constexpr double kMostDrafts = 1000;
constexpr uint64_t kMostSteps = uint64_t{1} << 40;

int speculation(const FactorOptions& options) {
    SizeAnswer answer;
    if (!options.histogram.empty()) {
        if (options.alpha || options.gamma)
            throw WrongUsage("speculation takes either --histogram or --alpha and --gamma.");
        const uint64_t drafts = options.histogram.size() - 1;
        if (drafts == 0)
            throw WrongUsage("--histogram needs a number for 0 accepted drafts and one for 1 at least.");
        const ObservedSpeculation seen = observed_speculation(options.histogram, drafts);
        answer.add_count("steps", seen.steps)
            .add_count("accepted", seen.accepted)
            .add_count("drafted", seen.drafted)
            .add("mean_acceptance_length", seen.mean_acceptance_length, "tokens a step: 1 + accepted / steps")
            .add("draft_acceptance_rate", seen.draft_acceptance_rate, "accepted / drafted")
            .print(options.json);
        return 0;
    }
    if (!options.alpha || !options.gamma)
        throw WrongUsage("speculation needs --alpha and --gamma, or --histogram.");
    answer
        .add("tokens_per_step", tokens_per_verify_step(*options.alpha, *options.gamma),
             "(1 - alpha^(gamma + 1)) / (1 - alpha)")
        .add("speedup", speculative_speedup(*options.alpha, *options.gamma, options.c),
             "tokens per step / (gamma c + 1)")
        .print(options.json);
    return 0;
}

std::string meaning(const PublishedFactor& factor) {
    switch (factor.kind) {
        case FactorKind::falls_by:
            return "falls by this share: ";
        case FactorKind::at_most_share:
            return "share, at most: ";
        case FactorKind::at_most_ms:
            return "ms a token, at most: ";
        case FactorKind::saves_at_least_ms:
            return "ms a token saved, at least: ";
        default:
            return "tokens per second: ";
    }
}

int factors(const FactorOptions& options) {
    SizeAnswer answer;
    for (const PublishedFactor& factor : published_factors()) {
        answer.add(std::string(factor.id), factor.value, meaning(factor) + std::string(factor.holds_for));
        if (options.amount && factor.kind == FactorKind::falls_by)
            answer.add(std::string(factor.id) + "_leaves", after_fall(*options.amount, factor.value),
                       fmt::format("of {:g}", *options.amount));
    }
    int number = 0;
    for (const PublishedClaim& claim : published_speculation())
        answer.add_text(fmt::format("speculation_{}", ++number), std::string(claim.claim),
                        std::string(claim.condition));
    answer.print(options.json);
    return 0;
}

}  // namespace

Command add_size_speculation(CLI::App& size) {
    auto options = std::make_shared<FactorOptions>();
    CLI::App* command =
        size.add_subcommand("speculation", "Tokens a step and speed-up of speculative decoding");
    add_amount(*command, "--alpha", options->alpha, "Probability that a draft is accepted", Least::zero, 1);
    add_amount(*command, "--gamma", options->gamma, "Drafts a step", Least::above_zero, kMostDrafts);
    add_amount(*command, "--c", options->c, "A step of the draft model by one of the model", Least::zero)
        ->capture_default_str();
    command
        ->add_option("--histogram", options->histogram,
                     "Steps with 0, 1, 2 … accepted drafts, as a run counted them")
        ->delimiter(',')
        ->transform(whole_number(kMostSteps));
    command->add_flag("--json", options->json, "One JSON object");
    return {command, [options] { return speculation(*options); }};
}

Command add_size_factors(CLI::App& size) {
    auto options = std::make_shared<FactorOptions>();
    CLI::App* command = size.add_subcommand("factors", "Figures that others published for techniques");
    add_amount(*command, "--of", options->amount, "An amount that those that fall are applied to",
               Least::zero);
    command->add_flag("--json", options->json, "One JSON object");
    return {command, [options] { return factors(*options); }};
}

}  // namespace cli
