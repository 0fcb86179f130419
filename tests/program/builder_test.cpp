// What recipes rely on: widths that follow, shared weights, mistakes that surface at finish().
#include <catch2/catch.hpp>

#include "program/builder.h"
#include "small_program.h"

using namespace takt;
using namespace takt::test;

TEST_CASE("Widths and row domains follow from weights and inputs") {
    const Program program = *small_program();
    for (const ValueDecl& value : program.values) {
        CAPTURE(value.name);
        const bool output = value.name == "hidden" || value.name == "head" || value.name == "logits";
        CHECK(value.domain == (output ? RowDomain::outputs : RowDomain::tokens));
        CHECK(value.width == (value.name == "head" || value.name == "logits" ? kVocab : kWidth));
    }
}

TEST_CASE("A weight named twice is one weight") {
    ProgramBuilder b("small", kVocab);
    const WeightId first = b.weight("table", DType::f32, kVocab, kWidth);
    CHECK(b.weight("table", DType::f32, kVocab, kWidth) == first);
    CHECK_FALSE(b.weight("other", DType::f32, kVocab, kWidth) == first);
}

TEST_CASE("A weight named twice with two shapes is an error of finish") {
    ProgramBuilder b("small", kVocab);
    const ValueId x = b.embed("x", b.weight("table", DType::f32, kVocab, kWidth));
    const ValueId hidden = b.select_rows("hidden", x);
    const ValueId logits = b.matmul("logits", hidden, b.weight("table", DType::f16, kVocab, kWidth));
    const Result<Program> program = std::move(b).finish(hidden, logits);
    REQUIRE_FALSE(program.ok());
    CHECK(program.status().message() == "Weight table is declared twice with different shapes.");
}

TEST_CASE("Ids that were never made are an error of finish, not a crash") {
    ProgramBuilder b("small", kVocab);
    const ValueId x = b.matmul("x", ValueId{}, WeightId{});
    b.kv_append(x, x, StateId{});
    const ValueId y = b.attention("y", x, StateId{}, 2, 1);
    const Result<Program> program = std::move(b).finish(b.add("z", x, y), ValueId{});
    CHECK_FALSE(program.ok());
}

TEST_CASE("Each matmul has an adapter slot of its own") {
    const Program program = *small_program();
    std::vector<uint32_t> slots;
    for (const Op& op : program.ops) {
        if (const auto* matmul = std::get_if<MatmulOp>(&op)) slots.push_back(matmul->adapter_slot);
    }
    CHECK(slots == std::vector<uint32_t>{0, 1});
}
