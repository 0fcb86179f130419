// Threads are set from test to test, so that a sweep over them loads the model once.
#include "bench/side.h"

#include <algorithm>

#include <fmt/format.h>

#include "load.h"

namespace cli {
namespace {

constexpr uint32_t kDefaultChunk = 512;

uint32_t threads_of(const std::string& item) {
    const uint32_t threads = parse_threads(item);
    return threads != 0 ? threads : takt::Runtime().thread_count();
}

// One value is left to the runtime; of several it has as many as the largest wants.
std::string runtime_threads(const std::vector<std::string>& items) {
    if (items.size() == 1) return items.front();
    uint32_t most = 1;
    for (const std::string& item : items) most = std::max(most, threads_of(item));
    return fmt::to_string(most);
}

}  // namespace

Side::Side(SideOptions options, const std::vector<std::string>& threads) : options_(std::move(options)) {
    CommonOptions common = options_.common;
    common.threads = runtime_threads(threads);
    runtime_ = std::make_shared<const takt::Runtime>(open_runtime(common));
    common.threads = "default";  // counts() looks for the best ones
    model_ = std::make_shared<const takt::Model>(load_model(*runtime_, common));
}

Side::Side(SideOptions options, const Side& other)
    : options_(std::move(options)), runtime_(other.runtime_), model_(other.model_) {}

bool Side::may_share(const SideOptions& first, const SideOptions& second) {
    const CommonOptions &a = first.common, &b = second.common;
    return a.model == b.model && a.backend == b.backend && a.isa == b.isa && a.packed_cache == b.packed_cache;
}

uint32_t Side::chunk_tokens() const {
    return options_.chunk != 0 ? options_.chunk : kDefaultChunk;
}

ThreadCounts Side::counts(const std::string& threads) {
    const auto known = counts_.find(threads);
    if (known != counts_.end()) return known->second;
    ThreadCounts counts;
    if (threads == "auto") {
        counts = tune_threads(*runtime_, *model_, options_.common);
    } else {
        counts.prefill = counts.decode = threads_of(threads);
    }
    counts_[threads] = counts;
    return counts;
}

takt::EngineOptions Side::engine_settings(const BenchShape& shape) const {
    takt::EngineOptions settings = engine_options(options_.common);
    settings.prefix_reuse = false;  // every repetition computes its prompt
    settings.step_gap_ns = TAKT_NO_STEP_GAP;
    settings.context_tokens = context_tokens(shape, chunk_tokens());
    settings.max_sequences = shape.sequences;
    settings.chunk_tokens = chunk_tokens();
    settings.kv_tokens = uint64_t{settings.context_tokens} * shape.sequences;
    if (options_.slowdown_percent > 0) settings.on_step = slowdown(*runtime_, options_.slowdown_percent);
    return settings;
}

Json Side::conditions(const BenchShape& shape, BenchTest test, const ThreadCounts& counts) const {
    const takt::EngineOptions settings = engine_settings(shape);
    Json json = conditions_json(*runtime_, *model_, options_.common, options_.common.backend);
    json["threads"] = test == BenchTest::prefill ? counts.prefill : counts.decode;
    json["chunk_tokens"] = settings.chunk_tokens;
    json["context_tokens"] = settings.context_tokens;
    json["page_tokens"] = model_->plan(settings).page_tokens;
    json["memory_limit_bytes"] = options_.common.memory_limit_bytes;
    json["slowdown_percent"] = options_.slowdown_percent;
    json["warm"] = true;
    return json;
}

std::function<void(const takt_step&)> slowdown(const takt::Runtime& runtime, double percent) {
    // What ends a prompt is followed by a decode step, so its wait is a part of such a one.
    return [&runtime, percent, decode_ns = uint64_t{0}](const takt_step& step) mutable {
        uint64_t ns = step.end_ns - step.begin_ns;
        if (step.prefill_rows == 0) {
            decode_ns = ns;
        } else if (step.generated_tokens > 0) {
            ns = decode_ns;
        }
        const uint64_t begin = runtime.now_ns();
        const auto wait_ns = static_cast<uint64_t>(static_cast<double>(ns) * percent / 100);
        while (runtime.now_ns() - begin < wait_ns) {
        }
    };
}

}  // namespace cli
