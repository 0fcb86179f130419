// A decode step takes sequences / rate, a prefill of one prompt its tokens / rate, chunk by chunk. What a
// position costs is the slope over tests that differ in nothing but their depth; a row of a prompt is taken
// to pay what one of a decode does where prompts were measured at one depth alone, as it does in small
// chunks.
#include "numbers/measured_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cli {
namespace {

using Json = nlohmann::json;

constexpr uint32_t kDefaultChunk = 512;
constexpr double kNsPerSecond = 1e9;
constexpr double kLeastShare = 0.1;  // of a step that is left when its positions are taken off

uint32_t count(const Json& line, const char* key, uint32_t least, uint32_t fallback) {
    const auto found = line.find(key);
    if (found == line.end()) return fallback;
    if (!found->is_number_unsigned() || found->get<uint64_t>() < least ||
        found->get<uint64_t>() > std::numeric_limits<int32_t>::max()) {
        throw std::runtime_error(fmt::format("\"{}\" is {}, no count from {} on", key, found->dump(), least));
    }
    return found->get<uint32_t>();
}

double rate(const Json& line) {
    const auto found = line.find("median");
    const double value = found != line.end() && found->is_number() ? found->get<double>() : 0;
    if (std::isfinite(value) && value > 0) return value;
    throw std::runtime_error("\"median\" is no rate above 0");
}

std::string text_of(const Json& line, const char* key) {
    const auto found = line.find(key);
    return found == line.end() ? "" : found->is_string() ? found->get<std::string>() : found->dump();
}

BenchLine read(const Json& line) {
    BenchLine result;
    result.decode = line.at("test") == "decode";
    result.tokens = count(line, "tokens", 1, 0);
    if (result.tokens == 0) throw std::runtime_error("it has no \"tokens\"");
    result.depth = count(line, "depth", 0, 0);
    result.sequences = count(line, "sequences", 1, 1);
    result.chunk_tokens = count(line, "chunk_tokens", 1, kDefaultChunk);
    result.tokens_per_second = rate(line);
    result.fingerprint = text_of(line, "fingerprint");
    for (const char* key : {"threads", "backend", "isa", "kv"})
        result.conditions +=
            fmt::format("{}{} {}", result.conditions.empty() ? "" : ", ", key, text_of(line, key));
    return result;
}

// A step of a test, and the positions before its rows.
struct Sample {
    uint32_t n_rows = 0;
    double step_ns = 0, positions = 0;
};

Sample decode_sample(const BenchLine& line) {
    const double middle = line.depth + (line.tokens - 1) / 2.0;
    return {line.sequences, line.sequences / line.tokens_per_second * kNsPerSecond, line.sequences * middle};
}

// Of a prompt of several chunks the mean one.
Sample prefill_sample(const BenchLine& line) {
    const double n_rows = std::min(line.tokens, line.chunk_tokens);
    const double mean_position = line.depth + (line.tokens - 1) / 2.0;
    return {static_cast<uint32_t>(n_rows), n_rows / line.tokens_per_second * kNsPerSecond,
            n_rows * mean_position};
}

// Least squares over what lies around the mean of each number of rows; nothing where that has one depth.
std::optional<double> position_slope(const std::vector<Sample>& samples) {
    struct Sums {
        double n = 0, x = 0, y = 0;
    };
    std::map<uint32_t, Sums> sums;
    for (const Sample& s : samples) {
        Sums& of = sums[s.n_rows];
        of.n += 1, of.x += s.positions, of.y += s.step_ns;
    }
    double xx = 0, xy = 0;
    for (const Sample& s : samples) {
        const Sums& of = sums[s.n_rows];
        const double x = s.positions - of.x / of.n, y = s.step_ns - of.y / of.n;
        xx += x * x, xy += x * y;
    }
    if (xx == 0) return std::nullopt;
    return std::max(0.0, xy / xx);
}

std::vector<MeasuredStep> table(const std::vector<Sample>& samples, double position_ns) {
    std::map<uint32_t, std::pair<double, double>> sums;  // of ns, of samples
    for (const Sample& s : samples) {
        const double ns = std::max(s.step_ns - position_ns * s.positions, s.step_ns * kLeastShare);
        sums[s.n_rows].first += ns, sums[s.n_rows].second += 1;
    }
    std::vector<MeasuredStep> steps;
    for (const auto& [n_rows, sum] : sums) {
        const double before = steps.empty() ? 0 : steps.back().step_ns;
        steps.push_back({n_rows, std::max(before, sum.first / sum.second)});
    }
    return steps;
}

}  // namespace

std::vector<BenchLine> parse_bench_lines(std::string_view text) {
    std::vector<BenchLine> lines;
    for (size_t number = 1; !text.empty(); ++number) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const Json json = Json::parse(line, nullptr, false);
        const auto fail = [&](std::string_view why) {
            throw std::runtime_error(fmt::format("line {}: {}.", number, why));
        };
        if (!json.is_object() || !json.contains("test")) fail("no line of takt bench --json");
        if (json.at("test") != "decode" && json.at("test") != "prefill") continue;
        try {
            lines.push_back(read(json));
        } catch (const std::exception& error) {
            fail(error.what());
        }
        const BenchLine &first = lines.front(), &last = lines.back();
        if (last.fingerprint != first.fingerprint) fail("another model than in the lines before");
        if (last.conditions != first.conditions)
            fail(
                fmt::format("measured with {}, the lines before with {}", last.conditions, first.conditions));
    }
    return lines;
}

StepTables fit_steps(std::span<const BenchLine> lines) {
    std::vector<Sample> decode, prefill;
    for (const BenchLine& line : lines) {
        if (line.decode) {
            decode.push_back(decode_sample(line));
        } else if (line.sequences == 1) {  // of several prompts more than one row gives a token
            prefill.push_back(prefill_sample(line));
        }
    }
    StepTables tables;
    tables.decode_position_ns = position_slope(decode).value_or(0);
    tables.prefill_position_ns = position_slope(prefill).value_or(tables.decode_position_ns);
    tables.decode = table(decode, tables.decode_position_ns);
    tables.prefill = table(prefill, tables.prefill_position_ns);
    return tables;
}

}  // namespace cli
