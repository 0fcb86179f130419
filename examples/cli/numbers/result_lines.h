// Files of benchmark results, one JSON object a line: read, matched, told apart.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace cli {

using Json = nlohmann::ordered_json;

// A last line that was cut short, by whoever ended the run, is left out.
struct ResultLines {
    std::vector<Json> results;
    std::size_t whole_bytes = 0;   // up to the end of the last whole line
    bool lacks_line_end = false;   // the last line is whole but for its line end
    std::size_t foreign_line = 0;  // from 1: the first that is no result; 0: none
};
ResultLines parse_result_lines(std::string_view text);

// The same test under the same conditions, as far as those are chosen and not measured.
bool same_test(const Json& first, const Json& second);

// Results of the same tokens, depth and sequences, each with the one most like it.
struct ResultMatches {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    std::vector<std::size_t> only_first, only_second;
};
ResultMatches match_results(const std::vector<Json>& first, const std::vector<Json>& second);

// Keys of the conditions in which they differ.
std::vector<std::string> differing_conditions(const Json& first, const Json& second);

// Repetition i of both was measured side by side.
bool measured_turn_about(const Json& first, const Json& second);

}  // namespace cli
