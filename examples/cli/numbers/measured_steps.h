// The cost of steps out of the lines of takt bench --json.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// One line of a bench file.
struct BenchLine {
    bool decode = false;  // else prefill
    uint32_t tokens = 0, depth = 0, sequences = 1, chunk_tokens = 0;
    double tokens_per_second = 0;  // all sequences together, the median of the repetitions
    std::string fingerprint;       // of the model; "" where the line has none
    std::string conditions;        // threads, backend, ISA level, form of keys and values
};

// Throws std::runtime_error naming the line (from 1) and what is wrong with it. Lines of other tests are left
// out; every line that is taken was measured under the conditions of the first one.
std::vector<BenchLine> parse_bench_lines(std::string_view text);

struct MeasuredStep {
    uint32_t n_rows = 0;
    double step_ns = 0;
};

// By ascending rows, none cheaper than one of fewer rows: what falls was disturbed.
struct StepTables {
    std::vector<MeasuredStep> decode;   // rows that give a token each
    std::vector<MeasuredStep> prefill;  // rows of which one gives a token
    // For each position before a row; 0 where no decode was measured at two depths. Without them the tables
    // hold what was measured at its own depth, with them what a step takes at position 0.
    double decode_position_ns = 0, prefill_position_ns = 0;
};
StepTables fit_steps(std::span<const BenchLine> lines);

}  // namespace cli
