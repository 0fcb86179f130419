// takt run: one prompt, one answer.
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "answer.h"
#include "commands.h"
#include "failure.h"
#include "load.h"
#include "prompt.h"
#include "report.h"
#include "slo_option.h"
#include "system.h"
#include "timeline_report.h"

namespace cli {
namespace {

constexpr uint64_t kLookForSignalsNs = 100'000'000;

struct RunOptions {
    CommonOptions common;
    GenerationOptions generation;
    std::string prompt, ids;
    CLI::Option* prompt_given = nullptr;
    CLI::Option* ids_given = nullptr;
    CLI::Option* slo_given = nullptr;
    CLI::Option* trace_given = nullptr;
    std::string slo, trace;
    bool raw = false, timeline = false;
};

constexpr uint32_t kTraceSteps = 1u << 16;  // of `--trace`: the last ones

void check_usage(const RunOptions& options) {
    const bool prompt = options.prompt_given->count() > 0, ids = options.ids_given->count() > 0;
    if (prompt == ids) throw WrongUsage("run takes either -p TEXT or --ids 1,2,3.");
    if (!options.generation.system.empty() && (options.raw || ids)) {
        throw WrongUsage("--system needs the chat template; --raw and --ids don't use it.");
    }
}

void set_prompt(const RunOptions& options, const takt::Model& model, takt::RequestOptions& request) {
    if (options.ids_given->count() > 0) {
        request.prompt_ids = parse_ids(options.ids, "--ids");
    } else if (options.raw) {
        request.prompt = options.prompt;
    } else {
        request.prompt_ids = chat_ids(model, options.generation.system, options.prompt);
    }
}

// Events are pulled, so that SIGINT ends the prefill too.
void print_events(takt::Request& request, AnswerPrinter& printer, TimelineCollector& timeline) {
    bool cancelled = false;
    for (;;) {
        if (interrupted() && !std::exchange(cancelled, true)) request.cancel();
        const std::optional<takt::Event> event = request.next(kLookForSignalsNs);
        if (!event) continue;
        if (event->is_token()) {
            printer.token(*event);
            timeline.token(*event);
        } else {
            return printer.finished(*event);
        }
    }
}

void write_trace(const takt::Engine& engine, OutputFile& file) {
    const std::string trace = engine.trace();
    file.write(trace.data(), trace.size());
    file.commit();
}

int run(const RunOptions& options) {
    check_usage(options);
    if (options.slo_given->count() > 0) slo_of_preset(options.slo);
    if (options.trace_given->count() > 0 && options.trace.empty()) throw WrongUsage("--trace names no file.");
    std::optional<OutputFile> trace;  // what can't be written shows before an answer is computed
    if (!options.trace.empty()) trace.emplace(options.trace);
    // A mistake shows before the model is read.
    if (options.ids_given->count() > 0 && parse_ids(options.ids, "--ids").empty())
        throw WrongUsage("--ids is empty.");
    const takt::Runtime runtime = open_runtime(options.common);
    const takt::Model model = load_model(runtime, options.common);
    takt::RequestOptions request = request_options(options.generation);
    set_prompt(options, model, request);
    takt::EngineOptions settings = engine_options(options.common);
    settings.context_tokens = options.generation.context_tokens;
    const std::optional<takt::Model> draft = load_draft_model(runtime, options.common, options.generation);
    if (draft) settings.draft_model = draft->get();
    if (!options.slo.empty()) {
        const Slo slo = slo_of_preset(options.slo);
        request.slo = takt::Slo{slo.ttft_ns, slo.tpot_ns, slo.itl_ns, slo.e2e_ns};
    }
    if (!options.trace.empty()) settings.trace_steps = kTraceSteps;
    takt::Engine engine(model, settings);

    AnswerPrinter printer(options.common.json);
    const takt::Snapshot before = engine.snapshot();
    takt::Request running = engine.submit(request);
    TimelineCollector timeline;
    print_events(running, printer, timeline);
    const takt_timing timing = running.timing();
    printer.finish(timing, running.prompt_ids());
    if (!options.common.json) {
        if (stdout_is_terminal()) write_stdout("\n");
        write_stderr(timing_text(timing));
    }
    if (options.timeline) write_stderr(timeline.text(timing, engine.snapshot().since(before).totals()));
    if (trace) write_trace(engine, *trace);
    if (running.status() != TAKT_OK) throw Failure(running.message());
    check_interrupted();
    return 0;
}

}  // namespace

Command add_run(CLI::App& app) {
    auto options = std::make_shared<RunOptions>();
    CLI::App* command = app.add_subcommand("run", "Answer a prompt");
    add_common(*command, options->common);
    add_generation(*command, options->generation);
    options->prompt_given = command->add_option("-p,--prompt", options->prompt,
                                                "Prompt: a chat message, or with --raw text as it is");
    options->ids_given =
        command->add_option("--ids", options->ids, "Prompt as token ids, 1,2,3; nothing is added");
    command->add_flag("--timeline", options->timeline,
                      "A bar for each token on stderr, by what it waited for");
    options->trace_given = command->add_option(
        "--trace", options->trace,
        "Write a trace of the steps for ui.perfetto.dev or chrome://tracing to this file");
    options->slo_given =
        command->add_option("--slo", options->slo, "Bounds by name, guidellm-chat; kept or missed is told");
    command->add_flag("--raw", options->raw,
                      "No chat template; BOS as the file says; special tokens are not parsed");
    return {command, [options] { return run(*options); }};
}

}  // namespace cli
