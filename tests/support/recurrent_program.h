// A program with recurrent state: a short convolution, a gated recurrence and, where wanted, two layers of
// attention, one of them with a window. No model is like this. Weights have names and sizes that the file of
// the tiny llama could give too, some of them in other shapes.
#pragma once

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "program/builder.h"

namespace takt::test {

constexpr uint32_t kRecurrentVocab = 384, kRecurrentWidth = 64, kTaps = 4, kRecurrentWindow = 20;

inline ValueId recurrent_layers(ProgramBuilder& b, ValueId x) {
    constexpr uint32_t kWidth = kRecurrentWidth;
    const auto matrix = [&](const char* name) { return b.weight(name, DType::f32, kWidth, kWidth); };
    const auto vector = [&](const char* name) { return b.weight(name, DType::f32, 1, kWidth); };
    const uint32_t group = b.recurrent_group("recurrent");
    const RecurrentStateId conv = b.recurrent_state("conv", group, (kTaps - 1) * kWidth),
                           hidden = b.recurrent_state("hidden", group, kWidth);
    ValueId normed = b.rms_norm("conv_norm", x, vector("blk.0.attn_norm.weight"), 1e-5f);
    const ValueId in = b.matmul("conv_in", normed, matrix("blk.0.attn_k.weight"));
    const ValueId mixed =
        b.short_conv("conv_mixed", in, b.weight("blk.0.ffn_gate.weight", DType::f32, kWidth, kTaps), conv);
    x = b.add("conv_out", x, b.matmul("conv_product", mixed, matrix("blk.0.attn_v.weight")));
    normed = b.rms_norm("hidden_norm", x, vector("blk.0.ffn_norm.weight"), 1e-5f);
    const ValueId gate = b.matmul("gate", normed, matrix("blk.1.ffn_gate.weight"));
    const ValueId candidate = b.matmul("candidate", normed, matrix("blk.1.attn_v.weight"));
    return b.add("hidden_out", x, b.gated_recurrence("hidden_state", gate, candidate, hidden));
}

inline ValueId attention_layer(ProgramBuilder& b, ValueId x, const std::string& block, uint32_t window) {
    constexpr uint32_t kWidth = kRecurrentWidth, kHeads = 4, kKvHeads = 2, kDim = 32;
    const std::string name = window == 0 ? "full" : "window";
    const StateId kv = b.kv_state(name + "_kv", b.group(name, window), kKvHeads, kDim, kDim);
    const ValueId normed =
        b.rms_norm(name + "_norm", x, b.weight(block + "attn_norm.weight", DType::f32, 1, kWidth), 1e-5f);
    const auto rotated = [&](const char* role, const char* weight, uint32_t n_heads) {
        const WeightId matrix = b.weight(block + weight, DType::f32, n_heads * kDim, kWidth);
        return b.rope(name + role + "_rope", b.matmul(name + role, normed, matrix),
                      RopeOp{{}, {}, kDim, kDim, RopeStyle::neox, 10000.0f, 1.0f, {}});
    };
    const ValueId queries = rotated("_q", "attn_q.weight", kHeads),
                  keys = rotated("_k", "ffn_up.weight", kKvHeads);
    const ValueId values =
        b.matmul(name + "_v", normed, b.weight(block + "attn_k.weight", DType::f32, kKvHeads * kDim, kWidth));
    b.kv_append(keys, values, kv);
    const ValueId attended = b.attention(name + "_attended", queries, kv, kHeads, 0.18f);
    const WeightId out = b.weight(block + "attn_output.weight", DType::f32, kWidth, kHeads * kDim);
    return b.add(name + "_out", x, b.matmul(name + "_product", attended, out));
}

inline Result<Program> build_recurrent_program(bool with_attention) {
    ProgramBuilder b("recurrent", kRecurrentVocab);
    ValueId x = b.embed("x", b.weight("token_embd.weight", DType::f32, kRecurrentVocab, kRecurrentWidth));
    if (with_attention) x = attention_layer(b, x, "blk.0.", 0);
    x = recurrent_layers(b, x);
    if (with_attention) x = attention_layer(b, x, "blk.1.", kRecurrentWindow);
    const ValueId hidden = b.select_rows("last", x);
    const ValueId logits =
        b.matmul("logits", hidden, b.weight("output.weight", DType::f32, kRecurrentVocab, kRecurrentWidth));
    return std::move(b).finish(hidden, logits);
}

inline std::shared_ptr<const Program> recurrent_program(bool with_attention = true) {
    Result<Program> program = build_recurrent_program(with_attention);
    INFO(program.status().message());
    REQUIRE(program.ok());
    return std::make_shared<const Program>(std::move(*program));
}

inline std::vector<int32_t> recurrent_tokens(size_t n, uint32_t salt = 0) {
    std::vector<int32_t> tokens(n);
    for (size_t i = 0; i < n; ++i)
        tokens[i] = static_cast<int32_t>((i * i * 7 + i * 31 + salt * 113) % kRecurrentVocab);
    return tokens;
}

}  // namespace takt::test
