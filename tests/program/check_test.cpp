// Every rule of check_program, broken once.
#include <catch2/catch.hpp>

#include <functional>
#include <string>

#include "program/check.h"
#include "small_program.h"

using namespace takt;
using namespace takt::test;

namespace {

struct Broken {
    const char* message;
    std::function<void(Program&)> change;
};

uint32_t index_of(const Program& program, const std::string& value) {
    for (uint32_t i = 0; i < program.values.size(); ++i) {
        if (program.values[i].name == value) return i;
    }
    FAIL("no value " << value);
    return 0;
}

ValueId value(const Program& program, const std::string& name) {
    return {index_of(program, name)};
}

}  // namespace

TEST_CASE("A sound program passes the check") {
    const Result<Program> program = small_program();
    INFO(program.status().message());
    REQUIRE(program.ok());
    CHECK(check_program(*program).ok());
}

TEST_CASE("The check names what is wrong with shapes and parameters") {
    const Broken cases[] = {
        {"norm weight norm is [1, 3], must be 8 floats", [](Program& p) { p.weights[1].columns = 3; }},
        {"w_q has 4 rows, q is 8 wide", [](Program& p) { p.weights[2].rows = 4; }},
        {"w_q has 16 columns, normed is 8 wide", [](Program& p) { p.weights[2].columns = 16; }},
        {"bias b_q is [1, 4], must be 8 floats", [](Program& p) { p.weights[3].columns = 4; }},
        {"norm weight norm is f16, must be f32", [](Program& p) { p.weights[1].dtype = DType::f16; }},
        {"w_q has 8 columns, q8_0 comes in blocks of 32",
         [](Program& p) { p.weights[2].dtype = DType::q8_0; }},
        {"table has 9 rows for 10 tokens", [](Program& p) { p.weights[0].rows = 9; }},
        {"a head 3", [](Program& p) { first_op<RopeOp>(p).head_dim = 3; }},
        {"rotates 3 of the 4", [](Program& p) { first_op<RopeOp>(p).rotated_dim = 3; }},
        {"rotates 6 of the 4", [](Program& p) { first_op<RopeOp>(p).rotated_dim = 6; }},
        {"base is 0", [](Program& p) { first_op<RopeOp>(p).base = 0; }},
        {"epsilon is 0", [](Program& p) { first_op<RmsNormOp>(p).epsilon = 0; }},
        {"3 heads can't share 2 key heads", [](Program& p) { first_op<AttentionOp>(p).n_heads = 3; }},
        {"must be 4 x 4", [](Program& p) { first_op<AttentionOp>(p).n_heads = 4; }},
        {"keys k are 8 wide, kv holds 2 x 6", [](Program& p) { p.states[0].key_dim = 6; }},
        {"state kv names group 1 of 1", [](Program& p) { p.states[0].group = 1; }},
        {"cap is 0", [](Program& p) { first_op<SoftCapOp>(p).cap = 0; }},
        {"logits are 10 wide for 9 tokens", [](Program& p) { p.vocab_size = 9; }},
        {"value x has width 0", [](Program& p) { p.values[0].width = 0; }},
        {"two values are named q", [](Program& p) { p.values[index_of(p, "k")].name = std::string("q"); }},
    };
    for (const Broken& broken : cases) {
        Program program = *small_program();
        broken.change(program);
        const Status status = check_program(program);
        CAPTURE(broken.message, status.message());
        CHECK_FALSE(status.ok());
        CHECK(status.message().find(broken.message) != std::string::npos);
    }
}

TEST_CASE("The check follows every value from its one writing to its reading") {
    const Broken cases[] = {
        {"reads sum before it is written", [](Program& p) { first_op<RmsNormOp>(p).in = value(p, "sum"); }},
        {"writes x a second time", [](Program& p) { first_op<RmsNormOp>(p).out = value(p, "x"); }},
        {"reads a value that doesn't exist", [](Program& p) { first_op<AddOp>(p).b = {99}; }},
        {"writes a value that doesn't exist", [](Program& p) { first_op<AddOp>(p).out = {}; }},
        {"names a weight that doesn't exist", [](Program& p) { first_op<MatmulOp>(p).weight = {}; }},
        {"names a state that doesn't exist", [](Program& p) { first_op<KvAppendOp>(p).state = {7}; }},
        {"value spare is never written",
         [](Program& p) { p.values.push_back({"spare", 8, RowDomain::tokens}); }},
        {"weight spare is never used", [](Program& p) { p.weights.push_back({"spare", DType::f32, 1, 8}); }},
        {"state spare is never read", [](Program& p) { p.states.push_back({"spare", 0, 1, 4, 4}); }},
        {"before this step's keys are appended",
         [](Program& p) {
             std::erase_if(p.ops, [](const Op& op) { return std::holds_alternative<KvAppendOp>(op); });
         }},
        {"appends to kv a second time",
         [](Program& p) { p.ops.insert(p.ops.end(), Op(first_op<KvAppendOp>(p))); }},
        {"hidden or logits is missing", [](Program& p) { p.hidden = {}; }},
    };
    for (const Broken& broken : cases) {
        Program program = *small_program();
        broken.change(program);
        const Status status = check_program(program);
        CAPTURE(broken.message, status.message());
        CHECK_FALSE(status.ok());
        CHECK(status.message().find(broken.message) != std::string::npos);
    }
}

TEST_CASE("Row domains change at select_rows alone") {
    const Broken cases[] = {
        {"hidden is not in the output domain",
         [](Program& p) { p.values[index_of(p, "hidden")].domain = RowDomain::tokens; }},
        {"different row domains", [](Program& p) { p.values[index_of(p, "q")].domain = RowDomain::outputs; }},
        {"x is not in the token domain",
         [](Program& p) { p.values[index_of(p, "x")].domain = RowDomain::outputs; }},
        {"sum is not in the output domain", [](Program& p) { p.hidden = value(p, "sum"); }},
    };
    for (const Broken& broken : cases) {
        Program program = *small_program();
        broken.change(program);
        const Status status = check_program(program);
        CAPTURE(broken.message, status.message());
        CHECK_FALSE(status.ok());
        CHECK(status.message().find(broken.message) != std::string::npos);
    }
}
