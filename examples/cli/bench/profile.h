// What takt bench says of a test beside its rate: the share of the machine's limits, and where a step's time
// goes.
#pragma once

#include <optional>
#include <string>

#include <takt/takt.hpp>

#include "bench/round.h"
#include "report.h"

namespace cli {

struct MachineLimits {
    // All threads together; empty where takt can't tell.
    std::optional<double> read_bytes_per_second, int8_operations_per_second, float_operations_per_second;
};

// What one test does for a token, averaged over its steps.
struct TokenCost {
    double bytes = 0;       // weights, keys and values read
    double operations = 0;  // 2 x weights multiplied, and attention
};

enum class BenchTest { prefill, decode };

// Reads are measured over a working set as large as a decode step's.
MachineLimits measure_limits(const takt::Model& model, const CommonOptions& common, const BenchShape& shape);
TokenCost token_cost(const takt::Model& model, const CommonOptions& common, const BenchShape& shape,
                     BenchTest test, uint32_t chunk_tokens);
// "bytes_per_token", …, "share_of_int8"; null where unknown.
Json roofline_json(const TokenCost& cost, const MachineLimits& limits, double tokens_per_second);
// Of a line with those keys.
std::string roofline_text(const Json& line);

// Every op of one step of a test, timed, beside another library's products.
Json profile_ops(const takt::Model& model, const CommonOptions& common, const BenchShape& shape,
                 BenchTest test, uint32_t chunk_tokens, uint32_t repetitions);
std::string ops_text(const Json& profile, BenchTest test);

}  // namespace cli
