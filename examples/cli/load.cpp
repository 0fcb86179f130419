// Everything that can be wrong with the common flags is said here, before a model is read.
#include "load.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <thread>

#include <fmt/format.h>

#include "failure.h"
#include "progress_line.h"
#include "system.h"
#include "tune.h"

namespace cli {
namespace {

uint32_t kv_type(const std::string& name) {
    if (name == "f16") return TAKT_KV_F16;
    if (name == "q8_0") return TAKT_KV_Q8_0;
    return name == "f32" ? TAKT_KV_F32 : TAKT_KV_DEFAULT;
}

}  // namespace

uint32_t parse_threads(const std::string& text) {
    if (text == "default") return 0;
    // With SMT up to two a core; tune_threads() finds how many of them help.
    if (text == "auto")
        return std::min(2 * takt::Runtime().thread_count(), std::thread::hardware_concurrency());
    uint32_t threads = 0;
    const std::from_chars_result parsed = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || threads == 0) {
        throw WrongUsage(fmt::format("-t: \"{}\" is neither a number of threads nor auto.", text));
    }
    return threads;
}

takt::Runtime open_runtime(const CommonOptions& options) {
    takt::RuntimeOptions runtime;
    runtime.n_threads = parse_threads(options.threads);
    runtime.isa_cap = options.isa;
    runtime.log = [](int, std::string_view text) { write_stderr(fmt::format("takt: note: {}\n", text)); };
    return takt::Runtime(std::move(runtime));
}

takt::Model load_model(const takt::Runtime& runtime, const CommonOptions& options, LoadWeights weights) {
    ProgressLine line("loading");
    takt::ModelOptions model;
    model.backend = options.backend;
    model.packed_cache_dir = options.packed_cache;
    model.metadata_only = weights == LoadWeights::no;
    model.progress = [&line](uint64_t done, uint64_t total) {
        line.update(done, total);
        check_interrupted();
        return true;
    };
    takt::Model loaded(runtime, options.model, model);
    if (options.threads == "auto" && weights == LoadWeights::yes) tune_threads(runtime, loaded, options);
    return loaded;
}

std::optional<takt::Model> load_draft_model(const takt::Runtime& runtime, const CommonOptions& options,
                                            const GenerationOptions& generation) {
    if (generation.draft_model.empty()) return std::nullopt;
    CommonOptions draft = options;
    draft.model = generation.draft_model;
    if (draft.threads == "auto") draft.threads = "default";  // the model that verifies has tuned them
    return load_model(runtime, draft);
}

takt::EngineOptions engine_options(const CommonOptions& options) {
    takt::EngineOptions engine;
    engine.backend = options.backend;
    engine.max_sequences = 1;
    engine.deterministic = options.deterministic;
    engine.kv_type = kv_type(options.kv);
    engine.page_tokens = options.page_tokens;
    engine.memory_limit_bytes = options.memory_limit_bytes;
    return engine;
}

void evaluate(takt::Engine& engine, const std::vector<int32_t>& ids, std::size_t first_position,
              uint32_t chunk_tokens, const OnLogits& on_logits) {
    std::atomic<bool> stopped = false;
    const InterruptListener listener([&] {
        if (stopped.exchange(true)) ::_exit(1);  // asked a second time
        engine.cancel_all();
    });
    try {
        engine.evaluate(ids, first_position, chunk_tokens, on_logits);
    } catch (const takt::Error& error) {
        if (stopped && error.status() == TAKT_ERROR_CANCELLED) throw Failure("Interrupted.");
        throw;
    }
    if (stopped) throw Failure("Interrupted.");
}

}  // namespace cli
