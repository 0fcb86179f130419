// takt: runs GGUF models from the shell, over include/takt alone.
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <takt/takt.hpp>

#include "commands.h"
#include "failure.h"
#include "system.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// One line, whatever the text holds: a file's bytes may be in it.
int say(int status, std::string text) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    }
    cli::write_stderr(fmt::format("takt: {}\n", text));
    return status;
}

// Help goes to stdout with status 0, a mistake to stderr with 2.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
        return say(kWrongUsage, fmt::format("{}{} See takt --help.", error.what(),
                                            std::string(error.what()).ends_with('.') ? "" : "."));
    }
    std::ostringstream out, ignored;
    app.exit(error, out, ignored);
    cli::write_stdout(out.str());
    return 0;
}

int run(int argc, char** argv) {
    CLI::App app("Runs GGUF models and times every token.", "takt");
    app.set_version_flag("--version", std::string(takt_version()));
    app.require_subcommand(1);
    const std::vector<cli::Command> commands = {
        cli::add_run(app),      cli::add_chat(app),   cli::add_tokenize(app),   cli::add_detokenize(app),
        cli::add_template(app), cli::add_logits(app), cli::add_perplexity(app), cli::add_bench(app),
        cli::add_inspect(app),  cli::add_plan(app),   cli::add_devices(app),    cli::add_size(app),
        cli::add_quantize(app)};
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty())
            return say(kWrongUsage, fmt::format("There is no command {}. See takt --help.", argv[1]));
        return end_of_parsing(app, error);
    }
    for (const cli::Command& command : commands) {
        if (command.app->parsed()) return command.run();
    }
    return kWrongUsage;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        cli::prepare_streams();
        cli::prepare_signals();
        return run(argc, argv);
    } catch (const cli::WrongUsage& error) {
        return say(kWrongUsage, error.what());
    } catch (const std::bad_alloc&) {
        return say(kFailed, "There is not enough memory.");
    } catch (const std::exception& error) {
        return say(kFailed, error.what());
    }
}
