// takt inspect, plan, devices: what is in a file, what it would take, what is there to run it.
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "failure.h"
#include "load.h"
#include "report.h"
#include "system.h"

namespace cli {
namespace {

struct InspectOptions {
    CommonOptions common;
    bool program = false;
    uint32_t context_tokens = 0, sequences = 1, chunk_tokens = 0;
    uint64_t kv_tokens = 0;  // 0: so many that every sequence may fill its context
};

std::string plain(const Json& value) {
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Texts of a file on one line each, and not endless.
std::string short_text(std::string text) {
    constexpr std::size_t kMaxBytes = 100;
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    }
    if (text.size() <= kMaxBytes) return text;
    std::size_t end = kMaxBytes;  // not inside a character
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end) + "...";
}

std::string members(const Json& object) {
    std::string text;
    for (const auto& [key, value] : object.items())
        text += fmt::format("  {:<24} {}\n", key, short_text(plain(value)));
    return text;
}

// "q3_k: 12 tensors, 34567 bytes, runs as q6_k (exact)"
std::string types_text(const Json& types) {
    std::string text = "types\n";
    for (const Json& type : types) {
        text += fmt::format("  {:<8} {:>5} tensors {:>14} bytes", plain(type.at("type")),
                            plain(type.at("tensors")), plain(type.at("bytes")));
        if (type.contains("runs_as"))
            text += fmt::format("  runs as {} ({})", plain(type.at("runs_as")), plain(type.at("precision")));
        text += "\n";
    }
    return text;
}

std::string inspect_text(const Json& json) {
    std::string text;
    for (const char* part : {"file", "config", "tokenizer", "program", "weights"}) {
        text += fmt::format("{}\n{}", part, members(json.at(part)));
    }
    text += types_text(json.at("types"));
    text += "metadata\n";
    for (const auto& [key, entry] : json.at("metadata").items()) {
        text += fmt::format("  {:<44} {:<7} {}\n", short_text(key), plain(entry.at("type")),
                            short_text(plain(entry.at("value"))));
    }
    text += "tensors\n";
    for (const Json& tensor : json.at("tensors")) {
        text += fmt::format("  {:<32} {:<7} {:<16} {:>12} bytes at {}\n",
                            short_text(plain(tensor.at("name"))), plain(tensor.at("type")),
                            plain(tensor.at("shape")), plain(tensor.at("bytes")), plain(tensor.at("offset")));
    }
    return text;
}

int inspect(const InspectOptions& options) {
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common, LoadWeights::no);
    const Json json = Json::parse(model.inspect());
    write_stdout(options.common.json ? json_line(json) : inspect_text(json));
    if (options.program) write_stdout(model.program());
    return 0;
}

Json plan_json(const takt_memory_plan& plan) {
    return {{"weight_bytes", plan.weight_bytes},     {"kv_bytes", plan.kv_bytes},
            {"scratch_bytes", plan.scratch_bytes},   {"total_bytes", plan.total_bytes},
            {"context_tokens", plan.context_tokens}, {"sequences", plan.max_sequences},
            {"kv_tokens", plan.kv_tokens},           {"chunk_tokens", plan.chunk_tokens},
            {"page_tokens", plan.page_tokens}};
}

std::string plan_text(const takt_memory_plan& plan) {
    return fmt::format(
        "weights {:>16} bytes\n"
        "pages   {:>16} bytes (sequences: {}, each of up to {} tokens; {} tokens in all, "
        "pages of {})\n"
        "scratch {:>16} bytes (steps of up to {} prompt tokens)\n"
        "in all  {:>16} bytes\n",
        plan.weight_bytes, plan.kv_bytes, plan.max_sequences, plan.context_tokens, plan.kv_tokens,
        plan.page_tokens, plan.scratch_bytes, plan.chunk_tokens, plan.total_bytes);
}

int plan(const InspectOptions& options) {
    if (options.sequences == 0) throw WrongUsage("--sequences is at least 1.");
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common, LoadWeights::no);
    takt::EngineOptions settings = engine_options(options.common);
    settings.context_tokens = options.context_tokens;
    settings.max_sequences = options.sequences;
    settings.chunk_tokens = options.chunk_tokens;
    settings.kv_tokens = options.kv_tokens;
    if (options.kv_tokens == 0 && options.common.memory_limit_bytes == 0) {
        const uint32_t context = options.context_tokens != 0 ? options.context_tokens
                                                             : std::min(4096u, model.info().context_tokens);
        settings.kv_tokens = uint64_t{context} * options.sequences;
    }
    const takt_memory_plan plan = model.plan(settings);
    write_stdout(options.common.json ? json_line(plan_json(plan)) : plan_text(plan));
    return 0;
}

int devices(const CommonOptions& options) {
    const takt::Runtime runtime = open_runtime(options);
    std::string text;
    for (const takt_backend_info& info : runtime.backends()) {
        const bool there = info.available != 0;
        if (options.json) {
            text += json_line({{"backend", info.name},
                               {"available", there},
                               {"device", info.device},
                               {"isa", info.isa},
                               {"isa_levels", info.isa_levels},
                               {"memory_bytes", info.memory_bytes},
                               {"why_not", info.why_not},
                               {"threads", runtime.thread_count()}});
        } else if (there) {
            text +=
                fmt::format("{:<12} {}{}{}\n", info.name, info.device,
                            *info.isa != '\0' ? fmt::format(", {}", info.isa) : "",
                            *info.isa_levels != '\0' ? fmt::format(" (runs here: {})", info.isa_levels) : "");
        } else {
            text += fmt::format("{:<12} not here: {}\n", info.name, info.why_not);
        }
    }
    write_stdout(text);
    return 0;
}

}  // namespace

Command add_inspect(CLI::App& app) {
    auto options = std::make_shared<InspectOptions>();
    CLI::App* command = app.add_subcommand("inspect", "Metadata, tensors, and what takt does with them");
    add_common(*command, options->common);
    command->add_flag("--program", options->program, "The model as a program too, one op a line");
    return {command, [options] { return inspect(*options); }};
}

Command add_plan(CLI::App& app) {
    auto options = std::make_shared<InspectOptions>();
    CLI::App* command = app.add_subcommand("plan", "Bytes of weights, pages and scratch");
    add_common(*command, options->common);
    add_number(*command, "--ctx", options->context_tokens,
               "Positions of one sequence; default: the smaller of 4096 and the model's");
    add_number(*command, "--sequences", options->sequences, "Sequences at once")->capture_default_str();
    add_number(*command, "--kv-tokens", options->kv_tokens,
               "Positions of all sequences together; default: --ctx times --sequences, with "
               "--memory-limit as the engine's");
    add_number(*command, "--chunk", options->chunk_tokens, "Prompt tokens of one step; default: 512");
    return {command, [options] { return plan(*options); }};
}

Command add_devices(CLI::App& app) {
    auto options = std::make_shared<CommonOptions>();
    CLI::App* command =
        app.add_subcommand("devices", "Backends, devices, ISA levels; for each absent one why");
    add_common(*command, *options, NeedsModel::no);
    return {command, [options] { return devices(*options); }};
}

}  // namespace cli
