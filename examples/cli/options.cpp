// Names, limits and help texts of the shared flags.
#include "options.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "failure.h"

namespace cli {
CLI::Validator whole_number(uint64_t highest) {
    const auto read = [highest](std::string& text) -> std::string {
        uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const std::from_chars_result parsed = std::from_chars(text.data(), end, value);
        const bool whole = !text.empty() && parsed.ec == std::errc() && parsed.ptr == end;
        if (!whole || value > highest)
            return fmt::format("{} is no whole number from 0 to {}", text.substr(0, 40), highest);
        text = fmt::format("{}", value);  // without leading zeros, which the parser behind takes for octal
        return {};
    };
    return CLI::Validator(read, "UINT", "whole number");
}

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> items;
    std::size_t begin = 0;
    for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', begin)) {
        items.push_back(text.substr(begin, comma - begin));
        begin = comma + 1;
    }
    items.push_back(text.substr(begin));
    return items;
}

CLI::Option* add_number_list(CLI::App& app, const std::string& flags, std::vector<uint32_t>& target,
                             const std::string& description) {
    const auto read = [&target](const std::string& text) {
        std::vector<uint32_t> numbers;
        for (const std::string& item : split_list(text)) {
            uint32_t& number = numbers.emplace_back();
            const char* const end = item.data() + item.size();
            const std::from_chars_result parsed = std::from_chars(item.data(), end, number);
            if (parsed.ec != std::errc() || parsed.ptr != end)
                throw CLI::ValidationError(
                    fmt::format("{} is no whole number from 0 to {}, nor a list of them", text.substr(0, 40),
                                std::numeric_limits<uint32_t>::max()));
        }
        target = std::move(numbers);
    };
    return app.add_option_function<std::string>(flags, read, description)
        ->type_name("UINT,...")
        ->default_str(fmt::format("{}", fmt::join(target, ",")));
}

std::optional<double> finite_number(const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result parsed = std::from_chars(text.data(), end, value);
    const bool whole = !text.empty() && parsed.ec == std::errc() && parsed.ptr == end;
    return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

CLI::Validator real_number(double lowest, double highest) {
    const auto check = [lowest, highest](std::string& text) -> std::string {
        const std::optional<double> value = finite_number(text);
        if (value && *value >= lowest && *value <= highest) return {};
        return fmt::format("{} is no number from {:g} to {:g}", text.substr(0, 40), lowest, highest);
    };
    return CLI::Validator(check, "NUMBER", "number");
}

void add_common(CLI::App& app, CommonOptions& options, NeedsModel needs_model) {
    CLI::Option* model = app.add_option("-m,--model", options.model, "GGUF file");
    if (needs_model == NeedsModel::yes) model->required();
    app.add_option("-t,--threads", options.threads,
                   "Threads that compute, or auto; default: physical cores within affinity and quota");
    app.add_option("--backend", options.backend, "Backend by name; default: the best one");
    app.add_option("--isa", options.isa, "Highest ISA level to use");
    app.add_option("--kv", options.kv,
                   "Form of keys and values; default: f16 on the cpu backend, f32 on reference")
        ->check(CLI::IsMember({"f16", "q8_0", "f32"}));
    add_number(app, "--page-tokens", options.page_tokens,
               "Positions in a page of keys and values, a power of two from 16 to 4096; default: 32");
    add_number(app, "--memory-limit", options.memory_limit_bytes,
               "Bytes of weights, pages and scratch at most; what isn't given on the command line gives way");
    app.add_option("--packed-cache", options.packed_cache,
                   "Folder that keeps packed weights, which the next load maps; nobody else may write there");
    app.add_flag("--deterministic", options.deterministic, "No path whose row depends on its neighbours");
    app.add_flag("--json", options.json, "One JSON object a line");
}

void add_generation(CLI::App& app, GenerationOptions& options) {
    add_number(app, "-n", options.max_tokens, "Tokens to generate at most")->capture_default_str();
    add_number(app, "--ctx", options.context_tokens,
               "Positions of prompt and answer together; default: the smaller of 4096 and the model's");
    app.add_option("--temp", options.temperature, "Temperature; 0 takes the likeliest token")
        ->capture_default_str();
    add_number(app, "--seed", options.seed, "Seed of the draws")->capture_default_str();
    add_number(app, "--top-k", options.top_k, "Draw from the k likeliest tokens; 0: off")
        ->capture_default_str();
    app.add_option("--top-p", options.top_p,
                   "Draw from the likeliest tokens that make up this probability; 1: off")
        ->capture_default_str();
    app.add_option("--min-p", options.min_p, "Leave out tokens below this part of the likeliest; 0: off")
        ->capture_default_str();
    app.add_option("--system", options.system, "System message");
    app.add_option("--stop", options.stops, "End at this text, which is not printed; may be given again")
        ->expected(1)
        ->take_all();
    app.add_flag("--ignore-eos", options.ignore_eos, "Go on past end-of-generation tokens");
    app.add_option("--draft-model", options.draft_model,
                   "GGUF file of a small model of the same vocabulary, which drafts");
    app.add_option("--drafts", options.drafts,
                   "Where drafts come from: the text so far, the draft model, or none; tokens are the same")
        ->check(CLI::IsMember({"none", "ngram", "model"}));
    app.add_option("--max-drafts", options.max_drafts,
                   "Drafts in a step at most; 0: up to 15, as many as pay")
        ->transform(whole_number(TAKT_MAX_DRAFTS));
    app.add_flag("--slide", options.slide, "When the context is full, go on with the newest half of it");
    add_number(app, "--pinned", options.pinned_tokens, "Tokens at the start that --slide leaves")
        ->capture_default_str();
}

namespace {

uint32_t draft_source(const std::string& name) {
    if (name == "none") return TAKT_DRAFTS_NONE;
    if (name == "ngram") return TAKT_DRAFTS_NGRAM;
    return name == "model" ? TAKT_DRAFTS_MODEL : TAKT_DRAFTS_DEFAULT;
}

}  // namespace

takt::RequestOptions request_options(const GenerationOptions& options) {
    takt::RequestOptions request;
    request.max_tokens = options.max_tokens;
    request.temperature = options.temperature;
    request.seed = options.seed;
    request.top_k = options.top_k;
    request.top_p = options.top_p;
    request.min_p = options.min_p;
    request.stop_strings = options.stops;
    request.ignore_eos = options.ignore_eos;
    request.drafts = draft_source(options.drafts);
    request.max_drafts = options.max_drafts;
    request.context_policy = options.slide ? TAKT_CONTEXT_SLIDE : TAKT_CONTEXT_STOP;
    request.pinned_tokens = options.pinned_tokens;
    return request;
}

std::vector<int32_t> parse_ids(const std::string& text, const std::string& flag) {
    std::vector<int32_t> ids;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        while (at != end && *at == ' ') ++at;
        if (at == end && ids.empty()) break;
        int32_t id = 0;
        const std::from_chars_result parsed = std::from_chars(at, end, id);
        if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr != ',' && *parsed.ptr != ' ')) {
            throw WrongUsage(fmt::format("{}: \"{}\" is no list of token ids such as 1,2,3.", flag,
                                         std::string(at, end).substr(0, 40)));
        }
        ids.push_back(id);
        at = parsed.ptr;
        while (at != end && *at == ' ') ++at;
        if (at == end) break;
        if (*at == ',' && ++at == end)
            throw WrongUsage(fmt::format("{}: \"{}\" ends with a comma.", flag, text.substr(0, 40)));
    }
    return ids;
}

}  // namespace cli
