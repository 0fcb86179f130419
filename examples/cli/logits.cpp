// takt logits: the scores of given tokens, as a NumPy array.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "failure.h"
#include "load.h"
#include "npy.h"
#include "system.h"

namespace cli {
namespace {

struct LogitsOptions {
    CommonOptions common;
    std::string ids, output;
    uint32_t chunk = 0;
    bool all = false;
};

int run(const LogitsOptions& options) {
    const std::vector<int32_t> ids = parse_ids(options.ids, "--ids");
    if (ids.empty()) throw WrongUsage("--ids is empty.");
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common);
    takt::EngineOptions settings = engine_options(options.common);
    settings.context_tokens = static_cast<uint32_t>(ids.size());
    settings.chunk_tokens = options.chunk;
    takt::Engine engine(model, settings);

    const std::size_t first = options.all ? 0 : ids.size() - 1;
    NpyFile file(options.output, ids.size() - first, model.info().vocab_size);
    evaluate(engine, ids, first, options.chunk, [&file](std::size_t, const float* logits, std::size_t n) {
        file.write_row(logits, n);
        return true;
    });
    file.commit();
    return 0;
}

}  // namespace

Command add_logits(CLI::App& app) {
    auto options = std::make_shared<LogitsOptions>();
    CLI::App* command =
        app.add_subcommand("logits", "Scores of given tokens to a .npy file of float32 [rows, vocabulary]");
    add_common(*command, options->common);
    command->add_option("--ids", options->ids, "Token ids, 1,2,3; nothing is added")->required();
    command->add_flag("--all", options->all, "Every position, not the last one alone");
    add_number(*command, "--chunk", options->chunk, "Rows a step; 1: the decode kernels");
    command->add_option("-o,--output", options->output, "File to write")->required();
    return {command, [options] { return run(*options); }};
}

}  // namespace cli
