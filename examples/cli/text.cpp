// takt tokenize, detokenize, template: text and ids through a model file, no weights loaded.
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "failure.h"
#include "load.h"
#include "report.h"
#include "system.h"

namespace cli {
namespace {

struct TextOptions {
    CommonOptions common;
    bool add_special = false, parse_special = false, skip_special = false, no_generation_prompt = false;
};

int tokenize(const TextOptions& options) {
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common, LoadWeights::no);
    uint32_t flags = 0;
    if (options.add_special) flags |= TAKT_ADD_SPECIAL;
    if (options.parse_special) flags |= TAKT_PARSE_SPECIAL;
    write_stdout(json_line({{"ids", model.tokenize(read_stdin(), flags)}}));
    return 0;
}

// [1,2,3], or the object that tokenize prints.
std::vector<int32_t> ids_of(const std::string& text) {
    Json json;
    try {
        json = Json::parse(text);
    } catch (const Json::parse_error& error) {
        throw Failure(fmt::format("Standard input is not JSON: the fault is at byte {}.", error.byte));
    }
    if (json.is_object() && json.contains("ids")) json = Json(json["ids"]);
    if (!json.is_array()) throw Failure("Standard input is no list of token ids such as [1,2,3].");
    std::vector<int32_t> ids;
    for (const Json& item : json) {
        if (!item.is_number_integer() || item < std::numeric_limits<int32_t>::min() ||
            item > std::numeric_limits<int32_t>::max()) {
            throw Failure(
                fmt::format("Item {} of the list is {}, which is no token id.", ids.size(),
                            item.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 40)));
        }
        ids.push_back(item.get<int32_t>());
    }
    return ids;
}

int detokenize(const TextOptions& options) {
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common, LoadWeights::no);
    write_stdout(model.detokenize(ids_of(read_stdin()), !options.skip_special));
    return 0;
}

int render(const TextOptions& options) {
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common, LoadWeights::no);
    write_stdout(model.render_chat(read_stdin(), !options.no_generation_prompt));
    return 0;
}

}  // namespace

Command add_tokenize(CLI::App& app) {
    auto options = std::make_shared<TextOptions>();
    CLI::App* command = app.add_subcommand("tokenize", "Bytes on stdin to {\"ids\":[...]}");
    add_common(*command, options->common);
    command->add_flag("--add-special", options->add_special, "BOS and EOS as the file says");
    command->add_flag("--parse-special", options->parse_special,
                      "Control tokens written in the text become ids");
    return {command, [options] { return tokenize(*options); }};
}

Command add_detokenize(CLI::App& app) {
    auto options = std::make_shared<TextOptions>();
    CLI::App* command = app.add_subcommand("detokenize", "[ids] on stdin to bytes");
    add_common(*command, options->common);
    command->add_flag("--skip-special", options->skip_special, "Leave control tokens out");
    return {command, [options] { return detokenize(*options); }};
}

Command add_template(CLI::App& app) {
    auto options = std::make_shared<TextOptions>();
    CLI::App* command =
        app.add_subcommand("template", "{\"messages\":[...],\"tools\":[...]} on stdin to the prompt text");
    add_common(*command, options->common);
    command->add_flag("--no-generation-prompt", options->no_generation_prompt,
                      "Don't open the assistant's turn");
    return {command, [options] { return render(*options); }};
}

}  // namespace cli
