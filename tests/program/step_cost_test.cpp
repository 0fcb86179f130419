// Counts of a step against sums done by hand over the small program.
#include <catch2/catch.hpp>

#include "program/step_cost.h"
#include "small_program.h"

using namespace takt;
using namespace takt::test;

namespace {

StepCost cost_of(const Program& program, const StepShape& shape) {
    return step_cost(program, shape, [&](WeightId id) {
        const WeightDecl& weight = program.weight(id);
        return uint64_t{weight.rows} * weight.columns * (weight.dtype == DType::f16 ? 2 : 4);
    });
}

}  // namespace

TEST_CASE("A step costs its weights once, its products by row and the positions that each row sees") {
    const Result<Program> program = small_program();
    REQUIRE(program.ok());
    // Rows at 3 to 7, the last two through the head.
    const StepCost cost = cost_of(*program, {5, 3, 2});
    // Five rows of the table, the norm, w_q and its bias, the table as head.
    CHECK(cost.weight_bytes == 5 * 32 + 32 + 128 + 32 + 320);
    CHECK(cost.product_operations == 2 * 5 * 64 + 2 * 2 * 80);
    CHECK(cost.kv_values == 8 * 2 * (4 + 4));
    CHECK(cost.attention_operations == 2 * (4 + 5 + 6 + 7 + 8) * 2 * (4 + 4));
}

TEST_CASE("A step without outputs does not read the head") {
    const Result<Program> program = small_program();
    REQUIRE(program.ok());
    const StepCost cost = cost_of(*program, {5, 3, 0});
    CHECK(cost.weight_bytes == 5 * 32 + 32 + 128 + 32);
    CHECK(cost.product_operations == 2 * 5 * 64);
}

TEST_CASE("A window costs its positions alone") {
    Result<Program> program = small_program();
    REQUIRE(program.ok());
    program->groups[0].window = 4;
    CHECK(cost_of(*program, {5, 3, 2}).attention_operations == 2 * 5 * 4 * 2 * (4 + 4));
    CHECK(cost_of(*program, {5, 3, 2}).kv_values == 8 * 2 * (4 + 4));
    CHECK(cost_of(*program, {1, 100, 1}).kv_values == 4 * 2 * (4 + 4));
    CHECK(cost_of(*program, {1, 1, 1}).kv_values == 2 * 2 * (4 + 4));
}

TEST_CASE("The table of a program gives what counting its ops gives, for any rows, places and windows") {
    for (const uint32_t window : {0u, 1u, 4u, 100u}) {
        Result<Program> program = small_program();
        REQUIRE(program.ok());
        program->groups[0].window = window;
        const auto bytes_of = [&](WeightId id) {
            const WeightDecl& weight = program->weight(id);
            return uint64_t{weight.rows} * weight.columns * (weight.dtype == DType::f16 ? 2 : 4);
        };
        const StepCostTable table(*program, bytes_of, [](uint64_t n_values) { return 2 * n_values; });
        for (const uint32_t rows : {1u, 2u, 5u, 64u}) {
            for (const uint32_t first : {0u, 1u, 3u, 99u, 1000u}) {
                for (const uint32_t outputs : {0u, 1u, rows}) {
                    INFO("window " << window << ", " << rows << " rows at " << first << ", " << outputs
                                   << " outputs");
                    const StepCost wanted = cost_of(*program, {rows, first, outputs});
                    StepCostTable::Cost cost;
                    table.add_rows({rows, first, outputs}, cost);
                    table.add_weights(outputs > 0, cost);
                    CHECK(cost.read_bytes == wanted.weight_bytes + 2 * wanted.kv_values);
                    CHECK(cost.product_operations == wanted.product_operations);
                    CHECK(cost.attention_operations == wanted.attention_operations);
                }
            }
        }
    }
}
