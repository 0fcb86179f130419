// A small model file of float tensors, for tests of the quantizer.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "gguf_builder.h"
#include "temporary_folder.h"

namespace takt::test {

inline std::vector<float> random_floats(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, 0.05f);
    std::vector<float> values(n);
    for (float& value : values) value = normal(random);
    return values;
}

struct FloatModel {
    uint32_t n_layers = 16, width = 256, ffn = 512;
    bool tied = true;
    uint32_t experts = 0;

    GgufBuilder builder() const {
        GgufBuilder b;
        b.str("general.architecture", "llama")
            .str("general.name", "m\xc3\xbc")
            .number<uint32_t>("llama.block_count", n_layers);
        b.number<float>("llama.rope.freq_base", 1e4f)
            .numbers<int32_t>("some.numbers", {-1, 2})
            .flag("some.flag", true);
        b.strings("some.texts", {"a", ""}).number<uint32_t>("general.file_type", 0);
        if (experts != 0) b.number<uint32_t>("llama.expert_count", experts);
        uint32_t seed = 1;
        const auto matrix = [&](const std::string& name, uint64_t columns, uint64_t rows) {
            b.f32_tensor(name, {columns, rows}, random_floats(columns * rows, seed++));
        };
        matrix("token_embd.weight", width, 64);
        for (uint32_t layer = 0; layer < n_layers; ++layer) {
            std::string prefix = "blk.";
            prefix += std::to_string(layer);
            matrix(prefix + ".attn_q.weight", width, 32);
            matrix(prefix + ".attn_v.weight", width, 16);
            matrix(prefix + ".ffn_down.weight", ffn, 16);
            b.f32_tensor(prefix + ".attn_norm.weight", {width}, random_floats(width, seed++));
        }
        if (!tied) matrix("output.weight", width, 64);
        return b;
    }
};

}  // namespace takt::test
