// takt perplexity: how well a model foretells a text.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "commands.h"
#include "failure.h"
#include "load.h"
#include "prompt.h"
#include "report.h"
#include "system.h"

namespace cli {
namespace {

constexpr uint32_t kDefaultContext = 4096;

struct PerplexityOptions {
    CommonOptions common;
    std::string file;
    uint32_t context_tokens = 0, chunk = 0;
    bool score_all = false;
};

double log_probability(std::span<const float> logits, int32_t id) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - highest);
    return static_cast<double>(logits[static_cast<std::size_t>(id)]) - highest - std::log(sum);
}

struct Score {
    uint64_t tokens = 0;
    double nll = 0;  // natural log, summed
};

// The token at first_scored is the first whose probability counts.
void score_window(takt::Engine& engine, const std::vector<int32_t>& ids, std::size_t first_scored,
                  uint32_t chunk, Score& score) {
    evaluate(engine, ids, first_scored - 1, chunk,
             [&](std::size_t position, const float* logits, std::size_t n) {
                 if (position + 1 < ids.size()) {
                     score.nll -= log_probability({logits, n}, ids[position + 1]);
                     ++score.tokens;
                 }
                 return true;
             });
}

int run(const PerplexityOptions& options) {
    const std::string text = read_file(options.file);
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common);
    const std::vector<int32_t> ids = model.tokenize(text, TAKT_ADD_SPECIAL);
    if (ids.size() < 2)
        throw Failure(fmt::format("{} gives {} tokens, at least 2 are needed.", options.file, ids.size()));
    const takt_model_info info = model.info();
    std::size_t window =
        options.context_tokens != 0 ? options.context_tokens : std::min(kDefaultContext, info.context_tokens);
    if (window < 2) throw WrongUsage(fmt::format("--ctx is {}, a window holds at least 2 tokens.", window));
    window = std::min(window, ids.size());

    takt::EngineOptions settings = engine_options(options.common);
    settings.context_tokens = static_cast<uint32_t>(window);
    settings.chunk_tokens = options.chunk;
    takt::Engine engine(model, settings);
    const bool bos = adds_bos(model);
    const std::size_t first_scored = options.score_all ? 1 : std::max<std::size_t>(1, window / 2);
    Score score;
    for (std::size_t begin = 0; begin + window <= ids.size(); begin += window) {
        std::vector<int32_t> part(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                  ids.begin() + static_cast<std::ptrdiff_t>(begin + window));
        if (bos) part.front() = info.bos_id;  // each window begins as the text does
        score_window(engine, part, first_scored, options.chunk, score);
    }
    if (const std::size_t rest = ids.size() % window; rest != 0) {
        write_stderr(
            fmt::format("takt: note: The last {} tokens fill no window and are not scored.\n", rest));
    }
    const double mean = score.nll / static_cast<double>(score.tokens);
    write_stdout(json_line({{"tokens", score.tokens},
                            {"nll", score.nll},
                            {"perplexity", std::exp(mean)},
                            {"mean_nll", mean},
                            {"windows", ids.size() / window},
                            {"window_tokens", window}}));
    return 0;
}

}  // namespace

Command add_perplexity(CLI::App& app) {
    auto options = std::make_shared<PerplexityOptions>();
    CLI::App* command = app.add_subcommand("perplexity", "How well the model foretells a text");
    add_common(*command, options->common);
    command->add_option("-f,--file", options->file, "Text")->required();
    add_number(*command, "--ctx", options->context_tokens,
               "Tokens of a window; default: the smaller of 4096 and the model's");
    add_number(*command, "--chunk", options->chunk, "Rows a step; 1: the decode kernels");
    command->add_flag("--score-all", options->score_all, "Score the first half of each window too");
    return {command, [options] { return run(*options); }};
}

}  // namespace cli
