// The rows that prompts get beside running requests, on steps whose cost is known.
#include "engine/chunk_budget.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace takt {
namespace {

// A machine whose step takes as long as reading the weights, or as its rows if that is longer.
struct Machine {
    double read_ns = 20e6, row_ns = 2e6;
    uint64_t step(uint32_t rows) const {
        return static_cast<uint64_t>(std::max(read_ns, rows * row_ns) + 1e5 * rows);
    }
};

}  // namespace

TEST_CASE("nobody decodes: a prompt gets the whole chunk") {
    const ChunkBudget budget(512, 0);
    CHECK(budget.prompt_rows(0) == 512);
}

TEST_CASE("prompts that join keep the step near 1.5 times the median, from a handful of steps on") {
    const Machine machine;
    ChunkBudget budget(512, 0);
    budget.record(0, 512, machine.step(512));
    for (int i = 0; i < 40; ++i) budget.record(4, 0, machine.step(4));
    const double median = static_cast<double>(machine.step(4));
    uint64_t rows_in_all = 0;
    for (int i = 0; i < 50; ++i) {
        const uint32_t rows = budget.prompt_rows(4);
        const uint64_t ns = machine.step(4 + rows);
        budget.record(4, rows, ns);
        rows_in_all += rows;
        CHECK(static_cast<double>(ns) <= (i < 6 ? 2.1 : 1.7) * median);
    }
    CHECK(rows_in_all >= 50 * 6);  // and uses what it may: about eleven rows fit
}

TEST_CASE("prompts go on while ever more decode and no step is without prompts") {
    const Machine machine;
    ChunkBudget budget(512, 0);
    for (int i = 0; i < 8; ++i) budget.record(1, 0, machine.step(1));
    uint64_t rows_in_all = 0;
    for (uint32_t decode = 1; decode <= 24; ++decode) {
        for (int i = 0; i < 5; ++i) {
            const uint32_t rows = budget.prompt_rows(decode);
            const uint64_t ns = machine.step(decode + rows);
            budget.record(decode, rows, ns);
            if (decode >= 20) rows_in_all += rows;
            if (decode >= 4)
                CHECK(static_cast<double>(ns) <= 2.5 * static_cast<double>(machine.step(decode)));
        }
    }
    CHECK(rows_in_all >= 25 * 6);
}

TEST_CASE("a stated gap is kept, and a row goes on however small it is") {
    const Machine machine;
    ChunkBudget budget(512, 100'000'000);
    for (int i = 0; i < 8; ++i) budget.record(2, 0, machine.step(2));
    uint32_t rows = 0;
    for (int i = 0; i < 30; ++i) {
        rows = budget.prompt_rows(2);
        budget.record(2, rows, machine.step(2 + rows));
    }
    CHECK(machine.step(2 + rows) <= 105'000'000);
    CHECK(machine.step(2 + rows) >= 80'000'000);
    ChunkBudget tight(512, 1);
    for (int i = 0; i < 8; ++i) tight.record(2, 0, machine.step(2));
    tight.record(2, tight.prompt_rows(2), machine.step(18));
    CHECK(tight.prompt_rows(2) == 1);
}

}  // namespace takt
