// Steps of made-up tokens with more and more threads; the fewest that come within a few per cent of the best
// win.
#include "tune.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "report.h"
#include "system.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

// A thread more is worth it if it gains this much: it is taken from whatever else the machine does.
constexpr double kWorthwhile = 1.03;
constexpr uint32_t kPrefillRows = 128, kPrefillRuns = 3, kDecodeRuns = 9;

std::optional<fs::path> memory_file() {
    if (const char* cache = std::getenv("TAKT_CACHE"); cache != nullptr && *cache != '\0')
        return fs::path(cache) / "threads.json";
    if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
        return fs::path(home) / ".cache" / "takt" / "threads.json";
    return std::nullopt;
}

// All that is remembered; an object without members if nothing can be read.
Json remembered(const std::optional<fs::path>& path) {
    if (!path) return Json::object();
    std::ifstream file(*path);
    Json all = file ? Json::parse(file, nullptr, false) : Json::object();
    return all.is_object() ? all : Json::object();
}

std::optional<ThreadCounts> find(const Json& all, const std::string& key, uint32_t most) {
    const auto entry = all.find(key);
    if (entry == all.end() || !entry->is_object()) return std::nullopt;
    const auto number = [&](const char* name) -> uint32_t {
        const auto value = entry->find(name);
        return value != entry->end() && value->is_number_unsigned() ? value->get<uint32_t>() : 0;
    };
    const ThreadCounts threads{number("prefill"), number("decode")};
    const bool good =
        threads.prefill >= 1 && threads.prefill <= most && threads.decode >= 1 && threads.decode <= most;
    return good ? std::optional<ThreadCounts>(threads) : std::nullopt;
}

// Whoever can't remember measures again the next time.
void remember(const fs::path& path, Json all, const std::string& key, const ThreadCounts& threads) {
    all[key] = {{"prefill", threads.prefill}, {"decode", threads.decode}};
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    try {
        OutputFile file(path.string());
        const std::string text = all.dump(1) + "\n";
        file.write(text.data(), text.size());
        file.commit();
    } catch (const std::exception& error) {
        write_stderr(fmt::format("takt: note: The thread counts are not remembered: {}\n", error.what()));
    }
}

// 1, 2, 3, 4, 6, 8, 12, … and all.
std::vector<uint32_t> candidates(uint32_t most) {
    std::vector<uint32_t> counts;
    for (uint32_t n = 1; n < most; n += std::max(1u, n / 2)) counts.push_back(n);
    counts.push_back(most);
    return counts;
}

uint32_t best_count(const takt::Runtime& runtime, const takt::Model& model, takt_profile_options step) {
    uint32_t best = 1;
    double best_ns = 0;
    for (const uint32_t n : candidates(runtime.thread_count())) {
        check_interrupted();
        runtime.set_threads(n, n);
        const double ns = Json::parse(model.profile(step)).at("median_ns").get<double>();
        if (best_ns != 0 && ns * kWorthwhile > best_ns) continue;
        best = n;
        best_ns = ns;
    }
    return best;
}

ThreadCounts measure(const takt::Runtime& runtime, const takt::Model& model, const CommonOptions& options) {
    takt_profile_options step = TAKT_PROFILE_OPTIONS_INIT;
    step.backend = options.backend.empty() ? nullptr : options.backend.c_str();
    step.repetitions = kDecodeRuns;
    ThreadCounts threads;
    threads.decode = best_count(runtime, model, step);
    step.n_rows = std::min(kPrefillRows, model.info().context_tokens);
    step.repetitions = kPrefillRuns;
    threads.prefill = best_count(runtime, model, step);
    return threads;
}

}  // namespace

ThreadCounts tune_threads(const takt::Runtime& runtime, const takt::Model& model,
                          const CommonOptions& options) {
    const uint32_t most = runtime.thread_count();
    if (most == 1) return {1, 1};
    const takt_backend_info device = backend_in_use(runtime, options.backend);
    const std::string key = fmt::format("{:016x} on {} {} {}, at most {}", model.info().fingerprint,
                                        device.name, device.device, device.isa, most);
    const std::optional<fs::path> path = memory_file();
    const Json all = remembered(path);
    std::optional<ThreadCounts> threads = find(all, key, most);
    if (!threads) {
        threads = measure(runtime, model, options);
        if (path) remember(*path, all, key, *threads);
    }
    runtime.set_threads(threads->prefill, threads->decode);
    return *threads;
}

}  // namespace cli
