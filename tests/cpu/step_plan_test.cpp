// How programs become fused steps, and that fusing never lets a value be overwritten before its last reader.
#include <catch2/catch.hpp>

#include <set>

#include <fmt/format.h>

#include "cpu/step_plan.h"
#include "program/builder.h"

using namespace takt;
using namespace takt::cpu;

namespace {

constexpr uint32_t kVocab = 32, kWidth = 64;

struct Recipe {
    ProgramBuilder b{"plan", kVocab};
    int n_weights = 0;

    WeightId weight(uint32_t rows, uint32_t columns, DType dtype = DType::q4_1) {
        return b.weight(fmt::format("w{}", n_weights++), dtype, rows, columns);
    }
    ValueId embed() { return b.embed("x", weight(kVocab, kWidth)); }
    ValueId norm(const std::string& name, ValueId in) {
        return b.rms_norm(name, in, weight(1, kWidth, DType::f32), 1e-5f);
    }
    Program finish(ValueId last) && {
        const ValueId hidden = b.select_rows("hidden", last);
        const ValueId logits = b.matmul("logits", hidden, weight(kVocab, kWidth));
        Result<Program> program = std::move(b).finish(hidden, logits);
        INFO(program.status().message());
        REQUIRE(program.ok());
        return std::move(*program);
    }
};

// "rows:norm+quantize products:3 attention gated …"
std::string outline(const StepPlan& plan) {
    std::string text;
    for (const Step& step : plan.steps) {
        if (const auto* rows = std::get_if<RowStep>(&step)) {
            text += fmt::format("rows:{}", rows->ops.size());
        } else if (const auto* products = std::get_if<ProductStep>(&step)) {
            text += fmt::format("products:{}", products->products.size());
            for (const Product& product : products->products) text += product.accumulate ? "+" : "";
        } else if (const auto* gated = std::get_if<GatedStep>(&step)) {
            text += gated->quantize ? "gated:quantize" : "gated";
        } else {
            text += std::get<AttentionStep>(step).quantize ? "attention:quantize" : "attention";
        }
        text += " ";
    }
    return text;
}

}  // namespace

TEST_CASE("a layer becomes eight steps, five of them parallel in a decode step") {
    Recipe r;
    ProgramBuilder& b = r.b;
    ValueId x = r.embed();
    const ValueId normed = r.norm("normed", x);
    const ValueId q = b.matmul("q", normed, r.weight(64, kWidth));
    const ValueId k = b.matmul("k", normed, r.weight(32, kWidth));
    const ValueId v = b.matmul("v", normed, r.weight(32, kWidth));
    const RopeOp rope{{}, {}, 16, 16, RopeStyle::neox, 10000, 1, {}};
    const StateId kv = b.kv_state("kv", b.group("full", 0), 2, 16, 16);
    const ValueId q_rope = b.rope("q_rope", q, rope), k_rope = b.rope("k_rope", k, rope);
    b.kv_append(k_rope, v, kv);
    const ValueId attended = b.attention("attended", q_rope, kv, 4, 0.25f);
    x = b.add("x1", x, b.matmul("o", attended, r.weight(kWidth, 64)));
    const ValueId ffn = r.norm("ffn_normed", x);
    const ValueId gate = b.matmul("gate", ffn, r.weight(96, kWidth)),
                  up = b.matmul("up", ffn, r.weight(96, kWidth));
    const ValueId gated = b.gated_activation("gated", gate, up, Activation::silu);
    x = b.add("x2", x, b.matmul("down", gated, r.weight(kWidth, 96)));
    const Program program = std::move(r).finish(x);
    const StepPlan plan = make_step_plan(program);
    CHECK(outline(plan) ==
          "rows:3 products:3 rows:3 attention:quantize products:1+ rows:2 gated:quantize products:1+ "
          "rows:2 products:1 ");
    // The residual stays in one buffer; gate, up and the activation are never stored as floats.
    CHECK(plan.slot[x.index] == plan.slot[0]);
    CHECK(plan.slot[q_rope.index] == plan.slot[q.index]);
    for (const ValueId value : {gate, up, gated}) CHECK(plan.slot[value.index] == kNoSlot);
    CHECK(plan.quantized_slot[gated.index] != plan.quantized_slot[ffn.index]);
    CHECK(plan.slots[plan.slot[program.logits.index]].output);
}

TEST_CASE("a residual that is read later is not added into") {
    Recipe r;
    ProgramBuilder& b = r.b;
    const ValueId x = r.embed();
    const ValueId sum = b.add("sum", x, b.matmul("product", x, r.weight(kWidth, kWidth)));
    const ValueId normed = r.norm("normed", sum);
    const ValueId other = b.add("other", normed, b.matmul("second", sum, r.weight(kWidth, kWidth)));
    const Program program = std::move(r).finish(b.add("last", other, x));
    const StepPlan plan = make_step_plan(program);
    CHECK(plan.slot[sum.index] != plan.slot[x.index]);         // x is read at the end
    CHECK(plan.slot[other.index] == plan.slot[normed.index]);  // normed isn't
}

TEST_CASE("values alive at the same step never share a buffer") {
    Recipe r;
    ProgramBuilder& b = r.b;
    const ValueId x = r.embed();
    ValueId sum = b.scale("s0", x, 2);
    std::vector<ValueId> parts;
    for (int i = 0; i < 5; ++i) {
        parts.push_back(b.matmul(fmt::format("p{}", i), x, r.weight(kWidth, kWidth, DType::f32)));
    }
    for (int i = 0; i < 5; ++i) sum = b.add(fmt::format("sum{}", i), sum, parts[static_cast<size_t>(i)]);
    const Program program = std::move(r).finish(sum);
    const StepPlan plan = make_step_plan(program);
    std::set<uint32_t> slots;
    size_t n_stored = 0;
    for (const ValueId part : parts) {
        if (plan.slot[part.index] == kNoSlot) continue;  // fused into the first sum
        slots.insert(plan.slot[part.index]);
        ++n_stored;
    }
    CHECK(slots.size() == n_stored);
    CHECK_FALSE(slots.contains(plan.slot[x.index]));
}

TEST_CASE(
    "a product of the residual itself, a shared gate and a gate read twice are left unfused, and all ops are "
    "kept") {
    Recipe r;
    ProgramBuilder& b = r.b;
    const ValueId x = r.embed();
    const ValueId self = b.add("self", x, b.matmul("own", x, r.weight(kWidth, kWidth)));
    const ValueId gate = b.matmul("gate", self, r.weight(kWidth, kWidth));
    const ValueId twice = b.gated_activation("twice", gate, gate, Activation::silu);
    const ValueId up = b.matmul("up", twice, r.weight(kWidth, kWidth));
    const ValueId gated = b.gated_activation("gated", gate, up, Activation::gelu_tanh);
    const Program program = std::move(r).finish(gated);
    const StepPlan plan = make_step_plan(program);
    size_t n_ops = 0;
    for (const Step& step : plan.steps) {
        if (const auto* rows = std::get_if<RowStep>(&step)) {
            for (const RowOp& op : rows->ops) n_ops += !std::holds_alternative<QuantizeOp>(op);
        } else if (const auto* products = std::get_if<ProductStep>(&step)) {
            for (const Product& product : products->products) n_ops += 1 + product.accumulate;
        } else {
            FAIL("unexpected step");
        }
    }
    CHECK(n_ops == program.ops.size());
}
