// What takt bench was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numbers/percentiles.h"
#include "numbers/slo.h"
#include "numbers/smooth_goodput.h"
#include "options.h"

namespace cli {

// What the two sides of a comparison may differ in.
struct SideOptions {
    CommonOptions common;
    uint32_t chunk = 0;           // 0: the default
    double slowdown_percent = 0;  // waited behind each step
};

struct ScenarioOptions {
    std::string name;  // empty: rates are measured
    uint64_t requests = 0;
    double duration_s = 0, rate = 0;
    uint64_t seed = 1;
    std::string lengths, slo_name, percentile_rule = "nearest_rank", smooth_origin = "arrival";
    std::optional<double> ttft_ms, tpot_ms, itl_ms, e2e_ms;
    SmoothRule smooth;
};

struct BenchOptions {
    SideOptions side;
    std::vector<uint32_t> prompt_tokens{512}, decode_tokens{128}, depths{0}, sequences{1};
    bool sequences_given = false, lengths_given = false;  // -b; -p or -n
    uint32_t repetitions = 5;
    bool csv = false, markdown = false, roofline = false, ops = false;
    std::string output, versus_output, plot;
    std::optional<std::string> versus;  // options of the second side; "": the same
    std::vector<std::string> compare;   // two files
    double confidence = 0.99, least_percent = 2;
    ScenarioOptions scenario;
};

// The values of -t.
std::vector<std::string> thread_items(const SideOptions& options);

void add_side(CLI::App& app, SideOptions& options, NeedsModel needs_model);
// --versus: the first side's options with those of text changed. WrongUsage names what is wrong with text.
SideOptions second_side(const SideOptions& first, const std::string& text);

}  // namespace cli
