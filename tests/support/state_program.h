// A program of two layers, one of them with a window, whose keys and values travel in tests.
#pragma once

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

#include "program/builder.h"

namespace takt::test {

constexpr uint32_t kStateVocab = 40, kStateWindow = 20;

// Two key heads of these dimensions a layer. Everything else is float32.
inline std::shared_ptr<const Program> state_program(uint32_t key_dim, uint32_t value_dim) {
    constexpr uint32_t kWidth = 64, kHeads = 4, kKvHeads = 2;
    ProgramBuilder b("state", kStateVocab);
    ValueId x = b.embed("x", b.weight("table", DType::f32, kStateVocab, kWidth));
    for (const uint32_t window : {0u, kStateWindow}) {
        const std::string layer = window ? "blk.1." : "blk.0.";
        const StateId kv = b.kv_state(layer + "kv", b.group(window ? "window" : "full", window), kKvHeads,
                                      key_dim, value_dim);
        const ValueId normed =
            b.rms_norm(layer + "normed", x, b.weight(layer + "norm", DType::f32, 1, kWidth), 1e-5f);
        const auto product = [&](const char* name, ValueId in, uint32_t rows) {
            return b.matmul(layer + name, in, b.weight(layer + "w_" + name, DType::f32, rows, b.width(in)));
        };
        const auto rotated = [&](const char* name, uint32_t n_heads) {
            return b.rope(layer + name + "_rope", product(name, normed, n_heads * key_dim),
                          RopeOp{{}, {}, key_dim, key_dim, RopeStyle::neox, 10000.0f, 1.0f, {}});
        };
        const ValueId queries = rotated("q", kHeads), keys = rotated("k", kKvHeads);
        b.kv_append(keys, product("v", normed, kKvHeads * value_dim), kv);
        const ValueId attended = b.attention(layer + "attended", queries, kv, kHeads, 0.18f);
        x = b.add(layer + "out", x, product("o", attended, kWidth));
    }
    const ValueId hidden = b.select_rows("hidden", x);
    const ValueId logits = b.matmul("logits", hidden, b.weight("head", DType::f32, kStateVocab, kWidth));
    Result<Program> program = std::move(b).finish(hidden, logits);
    INFO(program.status().message());
    REQUIRE(program.ok());
    return std::make_shared<const Program>(std::move(*program));
}

inline std::vector<int32_t> state_tokens(size_t n) {
    std::vector<int32_t> tokens(n);
    for (size_t i = 0; i < n; ++i) tokens[i] = static_cast<int32_t>(i * 7 % kStateVocab);
    return tokens;
}

}  // namespace takt::test
