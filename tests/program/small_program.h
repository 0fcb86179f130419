// A program of one attention layer, small enough to break on purpose.
#pragma once

#include <utility>

#include "program/builder.h"

namespace takt::test {

constexpr uint32_t kVocab = 10, kWidth = 8, kHeads = 2, kHeadDim = 4;

inline Result<Program> small_program() {
    ProgramBuilder b("small", kVocab);
    const WeightId table = b.weight("table", DType::f32, kVocab, kWidth);
    const uint32_t group = b.group("full", 0);
    const StateId kv = b.kv_state("kv", group, kHeads, kHeadDim, kHeadDim);
    const ValueId x = b.embed("x", table);
    const ValueId normed = b.rms_norm("normed", x, b.weight("norm", DType::f32, 1, kWidth), 1e-5f);
    const WeightId w_q = b.weight("w_q", DType::f16, kWidth, kWidth);
    const ValueId q = b.matmul("q", normed, w_q, b.weight("b_q", DType::f32, 1, kWidth));
    const RopeOp rope{{}, {}, kHeadDim, kHeadDim, RopeStyle::neox, 10000, 1, {}};
    const ValueId k = b.rope("k", normed, rope);
    b.kv_append(k, normed, kv);
    const ValueId attended = b.attention("attended", b.rope("q_rope", q, rope), kv, kHeads, 0.5f);
    const ValueId gated = b.gated_activation("gated", attended, x, Activation::silu);
    const ValueId sum = b.add("sum", x, b.scale("scaled", gated, 2));
    const ValueId hidden = b.select_rows("hidden", sum);
    const ValueId logits = b.soft_cap("logits", b.matmul("head", hidden, table), 30);
    return std::move(b).finish(hidden, logits);
}

// The first op of a kind, to be changed.
template <typename T>
T& first_op(Program& program) {
    for (Op& op : program.ops) {
        if (T* found = std::get_if<T>(&op)) return *found;
    }
    return std::get<T>(program.ops.front());
}

}  // namespace takt::test
