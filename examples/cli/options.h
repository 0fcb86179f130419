// Flags that several commands share.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <takt/takt.hpp>

namespace cli {

// A subcommand, and what to do once the command line was read. Returns the exit status.
struct Command {
    CLI::App* app = nullptr;
    std::function<int()> run;
};

struct CommonOptions {
    std::string model;
    std::string threads = "default";
    std::string backend;
    std::string isa;
    std::string kv;  // empty: the backend's choice
    std::string packed_cache;
    uint32_t page_tokens = 0;  // the engine's choice
    uint64_t memory_limit_bytes = 0;
    bool deterministic = false;
    bool json = false;
};

// Whole decimal numbers up to highest; anything else is refused by value.
CLI::Validator whole_number(uint64_t highest);
// All of the text as a finite number; nothing where it is none.
std::optional<double> finite_number(const std::string& text);
// Finite numbers from lowest to highest; anything else, nan included, is refused by value.
CLI::Validator real_number(double lowest, double highest);
template <typename T>
CLI::Option* add_number(CLI::App& app, const std::string& flags, T& target, const std::string& description) {
    return app.add_option(flags, target, description)->transform(whole_number(std::numeric_limits<T>::max()));
}

// The pieces between commas, empty ones included.
std::vector<std::string> split_list(const std::string& text);

// "0,512,2048": one number or more. target holds the default.
CLI::Option* add_number_list(CLI::App& app, const std::string& flags, std::vector<uint32_t>& target,
                             const std::string& description);

enum class NeedsModel { yes, no };
void add_common(CLI::App& app, CommonOptions& options, NeedsModel needs_model = NeedsModel::yes);

struct GenerationOptions {
    uint32_t max_tokens = 256;
    uint32_t context_tokens = 0;
    float temperature = 0;
    uint64_t seed = 0;
    uint32_t top_k = 0;
    float top_p = 1;
    float min_p = 0;
    std::string system;
    std::vector<std::string> stops;
    bool ignore_eos = false;
    std::string draft_model, drafts;
    uint32_t max_drafts = 0;
    bool slide = false;
    uint32_t pinned_tokens = 0;
};

void add_generation(CLI::App& app, GenerationOptions& options);
takt::RequestOptions request_options(const GenerationOptions& options);

// "1,2,3"; WrongUsage names the piece that is no id.
std::vector<int32_t> parse_ids(const std::string& text, const std::string& flag);

}  // namespace cli
