// Recurrent states in a program: every rule broken once, and the text.
#include <catch2/catch.hpp>

#include <functional>

#include "program/check.h"
#include "program/printer.h"
#include "program/step_cost.h"
#include "recurrent_program.h"

using namespace takt;
using namespace takt::test;

namespace {

template <typename T>
T& first_op(Program& program) {
    for (Op& op : program.ops) {
        if (T* found = std::get_if<T>(&op)) return *found;
    }
    return std::get<T>(program.ops.front());
}

WeightDecl& taps(Program& program) {
    return program.weights[first_op<ShortConvOp>(program).weight.index];
}

struct Broken {
    const char* message;
    std::function<void(Program&)> change;
};

}  // namespace

TEST_CASE("the check names what is wrong with recurrent states and their ops") {
    const Broken cases[] = {
        {"state conv names group 7 of 3", [](Program& p) { p.recurrent_states[0].group = 7; }},
        {"state conv can't be in group full, which isn't recurrent",
         [](Program& p) { p.recurrent_states[0].group = 0; }},
        {"state full_kv can't be in group recurrent, which is recurrent",
         [](Program& p) { p.states[0].group = 1; }},
        {"group recurrent is recurrent and has a window", [](Program& p) { p.groups[1].window = 8; }},
        {"state hidden has 0 floats, must be 1 to 268435456",
         [](Program& p) { p.recurrent_states[1].n_floats = 0; }},
        {"conv holds 128 floats, must be 192", [](Program& p) { p.recurrent_states[0].n_floats = 128; }},
        {"hidden holds 65 floats, must be 64", [](Program& p) { p.recurrent_states[1].n_floats = 65; }},
        {"uses conv a second time", [](Program& p) { first_op<GatedRecurrenceOp>(p).state = {0}; }},
        {"names a state that doesn't exist", [](Program& p) { first_op<ShortConvOp>(p).state = {2}; }},
        {"state spare is never used", [](Program& p) { p.recurrent_states.push_back({"spare", 1, 4}); }},
        {"blk.0.ffn_gate.weight is [64, 1], must be [64, 2 or more]",
         [](Program& p) { taps(p).columns = 1; }},
        {"blk.0.ffn_gate.weight is [32, 4], must be [64, 2 or more]", [](Program& p) { taps(p).rows = 32; }},
        {"blk.0.ffn_gate.weight is f16, must be f32", [](Program& p) { taps(p).dtype = DType::f16; }},
    };
    for (const Broken& broken : cases) {
        Program program = *recurrent_program();
        broken.change(program);
        const Status status = check_program(program);
        CAPTURE(broken.message, status.message());
        CHECK_FALSE(status.ok());
        CHECK(status.message().find(broken.message) != std::string::npos);
    }
}

TEST_CASE("recurrent states and their ops print as a line each") {
    const std::string text = print_program(*recurrent_program());
    for (const char* line : {"\ngroup recurrent, recurrent\n", "\nstate conv in recurrent, 192 floats\n",
                             "\nconv_mixed [tokens, 64] = short_conv conv_in, blk.0.ffn_gate.weight, conv\n",
                             "\nhidden_state [tokens, 64] = gated_recurrence candidate, hidden, gate gate\n"})
        CHECK(text.find(line) != std::string::npos);
}

TEST_CASE("recurrent state is read and written once a step, whatever its rows") {
    const auto program = recurrent_program();
    for (const uint32_t n_rows : {1u, 9u}) {
        const StepCost cost = step_cost(*program, {n_rows, 30, 1}, [](WeightId) { return uint64_t{0}; });
        CHECK(cost.recurrent_values == 2 * (192 + 64));
    }
}
