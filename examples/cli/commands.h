// Every subcommand adds its flags to the command line and says what to do.
#pragma once

#include "options.h"

namespace cli {

Command add_run(CLI::App& app);
Command add_chat(CLI::App& app);
Command add_tokenize(CLI::App& app);
Command add_detokenize(CLI::App& app);
Command add_template(CLI::App& app);
Command add_logits(CLI::App& app);
Command add_perplexity(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_plan(CLI::App& app);
Command add_devices(CLI::App& app);
Command add_quantize(CLI::App& app);
Command add_size(CLI::App& app);

}  // namespace cli
