// Which keys make a test, which its conditions.
#include "numbers/result_lines.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cli {
namespace {

constexpr std::string_view kBeginning = R"({"test":")";
constexpr std::array kTestKeys = {"test", "tokens", "depth", "sequences"};
constexpr std::array kConditionKeys = {"threads",
                                       "backend",
                                       "isa",
                                       "cpu",
                                       "kv",
                                       "deterministic",
                                       "model_name",
                                       "fingerprint",
                                       "chunk_tokens",
                                       "page_tokens",
                                       "slowdown_percent",
                                       "memory_limit_bytes",
                                       "takt"};

bool equal(const Json& first, const Json& second, const char* key) {
    const auto a = first.find(key), b = second.find(key);
    if (a == first.end() || b == second.end()) return a == first.end() && b == second.end();
    return *a == *b;
}

template <typename Keys>
bool equal_all(const Json& first, const Json& second, const Keys& keys) {
    return std::all_of(keys.begin(), keys.end(), [&](const char* key) { return equal(first, second, key); });
}

bool is_rate(const Json& value) {
    return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
}

bool is_result(const Json& line) {
    if (!line.is_object() || !line.contains("test") || !line["test"].is_string()) return false;
    for (const char* key : {"tokens", "depth", "sequences"}) {
        if (!line.contains(key) || !line[key].is_number_unsigned()) return false;
    }
    const auto rates = line.find("tokens_per_second");
    return rates != line.end() && rates->is_array() && !rates->empty() &&
           std::all_of(rates->begin(), rates->end(), is_rate);
}

// What a killed run can have left of a line.
bool may_be_cut_result(std::string_view text) {
    const std::size_t n = std::min(text.size(), kBeginning.size());
    return text.substr(0, n) == kBeginning.substr(0, n);
}

std::size_t likeness(const Json& first, const Json& second) {
    return static_cast<std::size_t>(
        std::count_if(kConditionKeys.begin(), kConditionKeys.end(),
                      [&](const char* key) { return equal(first, second, key); }));
}

}  // namespace

ResultLines parse_result_lines(std::string_view text) {
    ResultLines lines;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        const bool whole = end != std::string_view::npos;
        const std::string_view line = text.substr(0, end);
        Json json = Json::parse(line.begin(), line.end(), nullptr, false);
        if (!json.is_discarded() && is_result(json)) {
            lines.results.push_back(std::move(json));
            lines.whole_bytes += line.size() + (whole ? 1 : 0);
            lines.lacks_line_end = !whole;
        } else if (whole || !may_be_cut_result(line)) {
            lines.foreign_line = number;
            return lines;
        }
        text.remove_prefix(whole ? end + 1 : text.size());
    }
    return lines;
}

bool same_test(const Json& first, const Json& second) {
    return equal_all(first, second, kTestKeys) && equal_all(first, second, kConditionKeys) &&
           equal(first, second, "repetitions");
}

ResultMatches match_results(const std::vector<Json>& first, const std::vector<Json>& second) {
    ResultMatches matches;
    std::vector<bool> taken(second.size());
    std::vector<std::size_t> partner(first.size(), second.size());
    // The most alike first: a sweep over threads finds each count before others take it.
    for (std::size_t wanted = kConditionKeys.size() + 1; wanted-- > 0;) {
        for (std::size_t i = 0; i < first.size(); ++i) {
            for (std::size_t j = 0; j < second.size() && partner[i] == second.size(); ++j) {
                if (taken[j] || !equal_all(first[i], second[j], kTestKeys)) continue;
                if (likeness(first[i], second[j]) < wanted) continue;
                partner[i] = j;
                taken[j] = true;
            }
        }
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (partner[i] == second.size()) {
            matches.only_first.push_back(i);
        } else {
            matches.pairs.emplace_back(i, partner[i]);
        }
    }
    for (std::size_t j = 0; j < second.size(); ++j) {
        if (!taken[j]) matches.only_second.push_back(j);
    }
    return matches;
}

std::vector<std::string> differing_conditions(const Json& first, const Json& second) {
    std::vector<std::string> keys;
    for (const char* key : kConditionKeys) {
        if (!equal(first, second, key)) keys.emplace_back(key);
    }
    return keys;
}

bool measured_turn_about(const Json& first, const Json& second) {
    const auto id = first.find("turn_about");
    return id != first.end() && id->is_string() && equal(first, second, "turn_about");
}

}  // namespace cli
