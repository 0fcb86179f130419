// What can be asked for, and in which order it is measured.
#include "bench/cells.h"

#include <algorithm>
#include <filesystem>

#include "failure.h"

namespace cli {
namespace {

bool all_zero(const std::vector<uint32_t>& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](uint32_t n) { return n == 0; });
}

bool same_file(const std::string& a, const std::string& b) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
}

}  // namespace

void check_rates(const BenchOptions& options) {
    if (all_zero(options.prompt_tokens) && all_zero(options.decode_tokens))
        throw WrongUsage("-p and -n are both 0: there is nothing to measure.");
    if (std::count(options.sequences.begin(), options.sequences.end(), 0u) > 0 || options.repetitions == 0)
        throw WrongUsage("-b and -r are at least 1.");
    const bool table = options.csv || options.markdown;
    if (int{options.side.common.json} + int{options.csv} + int{options.markdown} > 1)
        throw WrongUsage("bench prints one of --json, --csv, --markdown.");
    if (options.roofline && table) throw WrongUsage("--roofline is printed as text or with --json.");
    if (options.ops && table) throw WrongUsage("--ops is printed as text or with --json.");
    if (options.versus && table) throw WrongUsage("--versus is printed as text or with --json.");
    if (!options.versus_output.empty() && !options.versus)
        throw WrongUsage("--versus-output is for the results of --versus.");
    if (!options.output.empty() && !options.versus_output.empty() &&
        same_file(options.output, options.versus_output))
        throw WrongUsage("-o and --versus-output are two files.");
    for (const std::string* results : {&options.output, &options.versus_output}) {
        if (!options.plot.empty() && !results->empty() && same_file(options.plot, *results))
            throw WrongUsage("--plot is another file than the results.");
    }
}

std::vector<Cell> cells_of(const BenchOptions& options) {
    std::vector<Cell> cells;
    for (const std::string& threads : thread_items(options.side)) {
        for (const uint32_t sequences : options.sequences) {
            for (const uint32_t depth : options.depths) {
                for (const uint32_t prompt : options.prompt_tokens) {
                    for (const uint32_t decode : options.decode_tokens) {
                        if (prompt == 0 && decode == 0) continue;
                        cells.push_back({{prompt, decode, depth, sequences}, threads});
                    }
                }
            }
        }
    }
    return cells;
}

const char* name_of(BenchTest test) {
    return test == BenchTest::prefill ? "prefill" : "decode";
}

uint32_t tokens_of(const BenchShape& shape, BenchTest test) {
    return test == BenchTest::prefill ? shape.prompt_tokens : shape.decode_tokens;
}

}  // namespace cli
