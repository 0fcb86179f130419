// Verdicts in words and as JSON.
#include "bench/compare.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "bench/result_file.h"
#include "failure.h"
#include "numbers/comparison.h"
#include "numbers/result_lines.h"
#include "numbers/statistics.h"
#include "system.h"

namespace cli {
namespace {

std::string test_text(const Json& line, const char* name_key) {
    return fmt::format("{:<8} {:>6} tokens at depth {:>6}, {} sequences",
                       line.at(name_key).get<std::string>(), line.at("tokens").get<uint64_t>(),
                       line.at("depth").get<uint64_t>(), line.at("sequences").get<uint64_t>());
}

// "cpu: A, B"; of things that only one of them says "none".
std::string differences_text(const Json& differs) {
    std::string text;
    const auto word = [](const Json& value) {
        if (value.is_null()) return std::string("none");
        return value.is_string() ? value.get<std::string>() : value.dump();
    };
    for (const auto& [key, both] : differs.items())
        text += fmt::format("{}{} {} and {}", text.empty() ? "" : "; ", key, word(both[0]), word(both[1]));
    return text;
}

std::string interval_text(const Json& c) {
    if (c.at("ratio_high").is_null()) return "";
    return fmt::format(" ({:.4f} to {:.4f})", c.at("ratio_low").get<double>(),
                       c.at("ratio_high").get<double>());
}

void note_alone(const std::vector<Json>& results, const std::vector<std::size_t>& places,
                const std::string& path) {
    for (const std::size_t i : places)
        write_stderr(fmt::format("takt: note: Only in {}: {}.\n", path, test_text(results[i], "test")));
}

}  // namespace

Json comparison_json(const Json& first, const Json& second, double confidence, double least_percent) {
    const auto a = first.at("tokens_per_second").get<std::vector<double>>();
    const auto b = second.at("tokens_per_second").get<std::vector<double>>();
    const Pairing pairing = measured_turn_about(first, second) ? Pairing::paired : Pairing::independent;
    const Comparison result = compare_rates(a, b, pairing, confidence, least_percent / 100);
    Json json;
    json["compare"] = first.at("test");
    for (const char* key : {"tokens", "depth", "sequences"}) json[key] = first.at(key);
    json["confidence"] = confidence;
    json["least_percent"] = least_percent;
    json["verdict"] = name_of(result.verdict);
    json["ratio"] = result.ratio;
    const bool bounded = std::isfinite(result.high);
    json["ratio_low"] = bounded ? Json(result.low) : Json(nullptr);
    json["ratio_high"] = bounded ? Json(result.high) : Json(nullptr);
    json["p_value"] = result.p_value;
    json["method"] = result.pairing == Pairing::paired ? "signed_rank" : "rank_sum";
    json["first_median"] = median(a);
    json["second_median"] = median(b);
    json["first_repetitions"] = a.size();
    json["second_repetitions"] = b.size();
    json["differs"] = Json::object();
    for (const std::string& key : differing_conditions(first, second))
        json["differs"][key] = {first.value(key, Json(nullptr)), second.value(key, Json(nullptr))};
    return json;
}

std::string comparison_text(const Json& c) {
    const double confidence = c.at("confidence").get<double>();
    std::string text = fmt::format("{}: {}{}", test_text(c, "compare"), c.at("verdict").get<std::string>(),
                                   c.at("verdict") == "too few repetitions" ? " for a verdict" : "");
    if (c.at("verdict") == "no difference")
        text += fmt::format(" of {:g} %", c.at("least_percent").get<double>());
    text += fmt::format(" at {:g} %: x{:.4f}{}, {:.2f} and {:.2f} tokens/s", 100 * confidence,
                        c.at("ratio").get<double>(), interval_text(c), c.at("first_median").get<double>(),
                        c.at("second_median").get<double>());
    const bool pairs = c.at("method") == "signed_rank";
    text += fmt::format(", {} and {} repetitions{}, p {:.2g}\n", c.at("first_repetitions").get<uint64_t>(),
                        c.at("second_repetitions").get<uint64_t>(), pairs ? " in pairs" : "",
                        c.at("p_value").get<double>());
    if (c.at("verdict") == "too few repetitions")
        text += fmt::format("         -r {} would do\n", least_repetitions(Pairing::independent, confidence));
    if (!c.at("differs").empty())
        text +=
            fmt::format("         not under the same conditions: {}\n", differences_text(c.at("differs")));
    return text;
}

int run_compare(const BenchOptions& options) {
    const std::vector<Json> first = read_results(options.compare[0]),
                            second = read_results(options.compare[1]);
    const ResultMatches matches = match_results(first, second);
    note_alone(first, matches.only_first, options.compare[0]);
    note_alone(second, matches.only_second, options.compare[1]);
    if (matches.pairs.empty())
        throw Failure(
            fmt::format("{} and {} have no test in common.", options.compare[0], options.compare[1]));
    for (const auto& [i, j] : matches.pairs) {
        const Json comparison =
            comparison_json(first[i], second[j], options.confidence, options.least_percent);
        write_stdout(options.side.common.json ? json_line(comparison) : comparison_text(comparison));
    }
    return 0;
}

}  // namespace cli
