// takt quantize: a model file in another type.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "failure.h"
#include "load.h"
#include "progress_line.h"
#include "prompt.h"
#include "report.h"
#include "system.h"

namespace cli {
namespace {

struct Options {
    CommonOptions common;
    std::string input, output, type, importance, text;
    uint32_t window = 0;
    bool requantize = false, pure = false;
};

Json result_json(const takt_quantize_result& result) {
    return {{"input_bytes", result.input_bytes},
            {"output_bytes", result.output_bytes},
            {"tensors", result.n_tensors},
            {"quantized", result.n_quantized},
            {"fallbacks", result.n_fallbacks}};
}

std::string result_text(const Options& options, const takt_quantize_result& result) {
    std::string text = fmt::format(
        "{}: {} bytes, {:.1f} % of {}; {} of {} tensors in another type\n", options.output,
        result.output_bytes,
        100.0 * static_cast<double>(result.output_bytes) / static_cast<double>(result.input_bytes),
        options.input, result.n_quantized, result.n_tensors);
    if (result.n_fallbacks != 0) {
        text += fmt::format("{} of them in a type of smaller blocks: their rows aren't whole blocks of {}\n",
                            result.n_fallbacks, options.type);
    }
    return text;
}

// A file for as long as a quantization needs it.
class LentFile {
public:
    explicit LentFile(std::string path) : path_(std::move(path)) {}
    ~LentFile() { std::remove(path_.c_str()); }
    LentFile(const LentFile&) = delete;
    LentFile& operator=(const LentFile&) = delete;

private:
    std::string path_;
};

void calibrate(const takt::Runtime& runtime, const Options& options, const std::string& path) {
    const std::string text = read_file(options.text);
    CommonOptions common = options.common;
    common.model = options.input;
    const takt::Model model = load_model(runtime, common);
    ProgressLine line("calibrating", "tokens");
    model.calibrate(model.tokenize(text, TAKT_ADD_SPECIAL), path, options.window,
                    [&line](uint64_t done, uint64_t total) {
                        line.update(done, total);
                        check_interrupted();
                        return true;
                    });
}

int run(const Options& options) {
    const takt::Runtime runtime = open_runtime(options.common);
    std::string importance = options.importance;
    std::unique_ptr<LentFile> lent;
    if (!options.text.empty()) {
        if (importance.empty()) {
            importance = fmt::format("{}.importance-{}", options.output, getpid());
            lent = std::make_unique<LentFile>(importance);
        }
        calibrate(runtime, options, importance);
    }
    takt::QuantizeOptions settings;
    settings.type = options.type;
    settings.importance_path = importance;
    settings.requantize = options.requantize;
    settings.pure = options.pure;
    ProgressLine line("quantizing");
    settings.progress = [&line](uint64_t done, uint64_t total) {
        line.update(done, total);
        check_interrupted();
        return true;
    };
    const takt_quantize_result result = runtime.quantize(options.input, options.output, settings);
    write_stdout(options.common.json ? json_line(result_json(result)) : result_text(options, result));
    return 0;
}

}  // namespace

Command add_quantize(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("quantize", "A model file in another type");
    add_common(*command, options->common, NeedsModel::no);
    command->add_option("INPUT", options->input, "A model file; of a split model its first part")->required();
    command->add_option("OUTPUT", options->output, "The file to write")->required();
    command->add_option("TYPE", options->type, "q4_k_m, q8_0, f16, ...: see takt.h")->required();
    command->add_option(
        "--importance", options->importance,
        "Importance of columns, a GGUF file as the usual engine's; with --calibrate it is written");
    command->add_option("--calibrate", options->text,
                        "Text to measure the importance of columns on, by running INPUT");
    add_number(*command, "--ctx", options->window, "Tokens of a window of that text; default: 512");
    command->add_flag("--requantize", options->requantize,
                      "Take tensors that are quantized already, and lose twice");
    command->add_flag("--pure", options->pure, "Every matrix in the one type");
    return {command, [options] { return run(*options); }};
}

}  // namespace cli
