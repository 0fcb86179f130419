// Hyperparameters of a model file, validated once: everything later may trust them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_reader.h"

namespace takt {

struct ModelConfig {
    std::string family;      // general.architecture
    std::string model_name;  // general.name or empty
    uint32_t vocab_size =
        0;  // tokens of the tokenizer; the embedding may hold more rows, which are never sampled
    uint32_t context_tokens = 0;  // what the model was trained for
    uint32_t n_layers = 0, embedding_dim = 0, ffn_dim = 0;
    uint32_t n_heads = 0, n_kv_heads = 0, key_dim = 0, value_dim = 0;
    float rms_epsilon = 0;
    uint32_t rope_rotated_dim = 0;
    float rope_base = 10000.0f, rope_base_window = 10000.0f, rope_frequency_scale = 1.0f;
    uint32_t window_tokens = 0;  // 0: no window layers
    uint32_t window_pattern =
        0;  // of every `pattern` layers the last sees everything (gemma3: 6); 0: the file lists the layers
    std::vector<bool> window_layers;  // per layer: sees the last window_tokens positions alone
    float attention_soft_cap = 0, final_soft_cap = 0;

    // model_unsupported for a family takt doesn't run, before anything else of the file is judged.
    static Result<ModelConfig> read(const GgufFile& file);
};

}  // namespace takt
