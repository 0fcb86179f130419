// Hyperparameters of a model file that most families share, validated once: everything later may trust them.
// What one family alone has is read by its recipe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_reader.h"

namespace takt {

// Of a row, a head's part of it, an expert: far above any model, far below where a product could overflow.
inline constexpr uint32_t kMaxWidth = 1u << 20;

struct LayerConfig {
    uint32_t n_heads = 0;
    uint32_t n_kv_heads = 0;  // 0: a layer without attention, in families that have such
    uint32_t ffn_dim = 0;     // 0: the file gives none, in families of experts
    bool windowed = false;    // sees the last window_tokens positions alone
};

struct RopeScaling {
    enum class Kind : uint8_t { none, linear, yarn, longrope };
    Kind kind = Kind::none;
    float factor = 1;               // positions are divided by it
    uint32_t original_context = 0;  // what the model was first trained for; 0: the file doesn't say
    float attention_factor = 0;     // 0: the file doesn't say
    float beta_fast = 32, beta_slow = 1;
    float log_multiplier = 0;
};

struct ModelConfig {
    std::string family;      // general.architecture
    std::string model_name;  // general.name or empty
    uint32_t vocab_size =
        0;  // tokens of the tokenizer; the embedding may hold more rows, which are never sampled
    uint32_t context_tokens = 0;  // what the model was trained for
    uint32_t n_layers = 0, embedding_dim = 0;
    uint32_t ffn_dim = 0, n_heads = 0, n_kv_heads = 0;  // of the widest layer
    uint32_t key_dim = 0, value_dim = 0;                // of a head
    std::vector<LayerConfig> layers;
    float norm_epsilon = 0;
    uint32_t rope_rotated_dim = 0;
    float rope_base = 10000.0f, rope_base_window = 10000.0f;
    RopeScaling rope_scaling;
    uint32_t window_tokens = 0;  // 0: no window layers
    uint32_t window_pattern =
        0;  // of every `pattern` layers the last sees everything; 0: the file lists them
    float attention_soft_cap = 0, final_soft_cap = 0;
    uint32_t n_experts = 0, n_experts_used = 0, expert_ffn_dim = 0;  // 0: no experts

    // model_unsupported for a family takt doesn't run, before anything else of the file is judged.
    static Result<ModelConfig> read(const GgufFile& file);
};

}  // namespace takt
