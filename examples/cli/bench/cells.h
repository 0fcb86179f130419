// The combinations of a sweep, and their tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench_options.h"
#include "bench/profile.h"
#include "bench/round.h"

namespace cli {

struct Cell {
    BenchShape shape;
    std::string threads;  // a value of -t
};

// WrongUsage unless rates can be measured as asked.
void check_rates(const BenchOptions& options);
std::vector<Cell> cells_of(const BenchOptions& options);

inline constexpr std::array kTests = {BenchTest::prefill, BenchTest::decode};
const char* name_of(BenchTest test);
// Of the prompt or to decode; 0: the cell has no such test.
uint32_t tokens_of(const BenchShape& shape, BenchTest test);

}  // namespace cli
