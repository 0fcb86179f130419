// Reads and checks every hyperparameter; what takt would compute wrongly is refused here, by key and value.
#include "model/model_config.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model/families/families.h"
#include "model/hyperparameters.h"

namespace takt {
namespace {

// Generous limits: far above any model, far below where a product of two could overflow 64 bits.
constexpr uint64_t kMaxLayers = 4096;
constexpr uint64_t kMaxHeads = 1u << 14;
constexpr uint64_t kMaxContext = 1u << 30;
constexpr uint64_t kMaxVocabulary = 1u << 24;
constexpr uint64_t kMaxExperts = 1u << 12;

Status read_names(const GgufFile& file, ModelConfig& config) {
    const Result<std::optional<std::string_view>> family = file.get_string("general.architecture");
    if (!family.ok()) return family.status();
    if (!*family) return Status(StatusCode::model_invalid, "general.architecture is missing.");
    config.family = **family;
    const Result<const Family*> known = find_family(config.family);
    if (!known.ok()) return known.status();
    const Result<std::optional<std::string_view>> name = file.get_string("general.name");
    if (name.ok() && *name) config.model_name = **name;  // a decoration: of another type, it is none
    return {};
}

Status read_vocabulary_size(const GgufFile& file, ModelConfig& config) {
    const Result<const GgufArray*> tokens = file.get_array("tokenizer.ggml.tokens", GgufType::string);
    if (!tokens.ok()) return tokens.status();
    if (*tokens == nullptr) return Status(StatusCode::tokenizer_invalid, "tokenizer.ggml.tokens is missing.");
    const size_t n_tokens = (*tokens)->size();
    if (n_tokens == 0) return Status(StatusCode::tokenizer_invalid, "tokenizer.ggml.tokens is empty.");
    if (n_tokens > kMaxVocabulary) {
        return Status(StatusCode::tokenizer_invalid,
                      fmt::format("tokenizer.ggml.tokens holds {} tokens, exceeds the maximum of {}.",
                                  n_tokens, kMaxVocabulary));
    }
    config.vocab_size = static_cast<uint32_t>(n_tokens);
    return {};
}

void read_layers(Hyperparameters& keys, const FamilyTraits& traits, ModelConfig& config) {
    config.layers.resize(config.n_layers);
    const bool experts = traits.experts && config.n_experts > 0;
    const std::vector<uint32_t> heads =
        keys.each_layer("attention.head_count", std::nullopt, config.n_layers, {1, kMaxHeads});
    const std::vector<uint32_t> ffn =
        keys.each_layer("feed_forward_length", experts ? std::optional(0u) : std::nullopt, config.n_layers,
                        {experts ? 0u : 1u, kMaxWidth});
    if (!keys.status().ok()) return;
    for (uint32_t i = 0; i < config.n_layers; ++i) {
        config.layers[i].n_heads = heads[i];
        config.layers[i].ffn_dim = ffn[i];
        config.n_heads = std::max(config.n_heads, heads[i]);
        config.ffn_dim = std::max(config.ffn_dim, ffn[i]);
    }
    const std::vector<uint32_t> kv_heads =
        keys.each_layer("attention.head_count_kv", config.n_heads, config.n_layers,
                        {traits.layers_without_attention ? 0u : 1u, kMaxHeads});
    if (!keys.status().ok()) return;
    for (uint32_t i = 0; i < config.n_layers; ++i) {
        config.layers[i].n_kv_heads = kv_heads[i];
        config.n_kv_heads = std::max(config.n_kv_heads, kv_heads[i]);
        if (kv_heads[i] != 0 && heads[i] % kv_heads[i] != 0) {
            return keys.fail(
                StatusCode::model_invalid,
                fmt::format("{} is {}, must divide {}, which is {}.", keys.key("attention.head_count_kv"),
                            kv_heads[i], keys.key("attention.head_count"), heads[i]));
        }
    }
    if (config.n_kv_heads == 0) {
        keys.fail(StatusCode::model_invalid,
                  fmt::format("{} is 0 for every layer.", keys.key("attention.head_count_kv")));
    }
}

void read_experts(Hyperparameters& keys, const FamilyTraits& traits, ModelConfig& config) {
    config.n_experts = keys.optional("expert_count", 0, {0, UINT32_MAX});
    if (config.n_experts == 0) return;
    if (!traits.experts) {
        return keys.fail(StatusCode::model_unsupported,
                         fmt::format("{} is {}, takt doesn't run mixtures of experts of family {}.",
                                     keys.key("expert_count"), config.n_experts, config.family));
    }
    config.n_experts = keys.optional("expert_count", 0, {0, kMaxExperts});
    config.n_experts_used = keys.required("expert_used_count", {1, std::max(1u, config.n_experts)});
    config.expert_ffn_dim = keys.optional("expert_feed_forward_length", 0, {0, kMaxWidth});
}

void read_sizes(Hyperparameters& keys, const FamilyTraits& traits, ModelConfig& config) {
    config.n_layers = keys.required("block_count", {1, kMaxLayers});
    config.context_tokens = keys.required("context_length", {1, kMaxContext});
    config.embedding_dim = keys.required("embedding_length", {1, kMaxWidth});
    read_experts(keys, traits, config);
    if (!keys.status().ok()) return;
    read_layers(keys, traits, config);
    if (!keys.status().ok()) return;
    if (config.n_experts > 0 && config.expert_ffn_dim == 0) config.expert_ffn_dim = config.ffn_dim;
    if (config.n_experts > 0 && config.expert_ffn_dim == 0) {
        return keys.fail(StatusCode::model_invalid,
                         fmt::format("{} is missing.", keys.key("expert_feed_forward_length")));
    }
    if (!keys.has("attention.key_length") && config.embedding_dim % config.n_heads != 0) {
        return keys.fail(
            StatusCode::model_invalid,
            fmt::format("{} is {}, must divide {}, which is {}, where no {} is given.",
                        keys.key("attention.head_count"), config.n_heads, keys.key("embedding_length"),
                        config.embedding_dim, keys.key("attention.key_length")));
    }
    config.key_dim = keys.optional("attention.key_length", config.embedding_dim / config.n_heads,
                                   {1, kMaxWidth / config.n_heads});
    config.value_dim =
        keys.optional("attention.value_length", config.key_dim, {1, kMaxWidth / config.n_heads});
    config.norm_epsilon = keys.required_positive(traits.layer_norm ? "attention.layer_norm_epsilon"
                                                                   : "attention.layer_norm_rms_epsilon");
    config.attention_soft_cap = keys.optional_or_zero("attn_logit_softcapping");
    config.final_soft_cap = keys.optional_or_zero("final_logit_softcapping");
}

// A file with a factor but no type means linear scaling; a factor of 0 stands for "none".
void read_rope_scaling(Hyperparameters& keys, ModelConfig& config) {
    RopeScaling& scaling = config.rope_scaling;
    const std::string type = keys.text("rope.scaling.type");
    const bool old_name = !keys.has("rope.scaling.factor") && keys.has("rope.scale_linear");
    const float factor = keys.optional_or_zero(old_name ? "rope.scale_linear" : "rope.scaling.factor");
    scaling.original_context = keys.optional("rope.scaling.original_context_length", 0, {0, kMaxContext});
    scaling.attention_factor = keys.optional_or_zero("rope.scaling.attn_factor");
    if (type == "" || type == "linear") {
        if (factor != 0) scaling.kind = RopeScaling::Kind::linear;
    } else if (type == "yarn") {
        scaling.kind = RopeScaling::Kind::yarn;
        scaling.beta_fast = keys.optional_positive("rope.scaling.yarn_beta_fast", 32);
        scaling.beta_slow = keys.optional_positive("rope.scaling.yarn_beta_slow", 1);
        scaling.log_multiplier = keys.optional_or_zero("rope.scaling.yarn_log_multiplier");
        if (scaling.original_context == 0) scaling.original_context = config.context_tokens;
        if (factor == 0) {
            keys.fail(StatusCode::model_invalid,
                      fmt::format("{} is missing or 0.", keys.key("rope.scaling.factor")));
        }
        if (keys.status().ok() && config.rope_base <= 1) {
            keys.fail(StatusCode::model_invalid, fmt::format("{} is {}, must be above 1 with YaRN.",
                                                             keys.key("rope.freq_base"), config.rope_base));
        }
    } else if (type == "longrope") {
        scaling.kind = RopeScaling::Kind::longrope;
    } else if (type != "none") {
        keys.fail(StatusCode::model_unsupported,
                  fmt::format("{} is '{}', takt runs none, linear, yarn and longrope.",
                              keys.key("rope.scaling.type"), type));
    }
    if (type != "none" && factor != 0) scaling.factor = factor;
    if (keys.status().ok() && 1.0f / scaling.factor <= 0) {
        keys.fail(StatusCode::model_invalid,
                  fmt::format("{} is {}, too large.", keys.key("rope.scaling.factor"), factor));
    }
}

void read_rope(Hyperparameters& keys, const FamilyTraits& traits, ModelConfig& config) {
    config.rope_rotated_dim = keys.optional("rope.dimension_count", config.key_dim, {1, kMaxWidth});
    if (keys.status().ok() &&
        (config.rope_rotated_dim % 2 != 0 || config.rope_rotated_dim > config.key_dim)) {
        keys.fail(StatusCode::model_invalid,
                  fmt::format("{} is {}, must be even and at most the head size {}.",
                              keys.key("rope.dimension_count"), config.rope_rotated_dim, config.key_dim));
    }
    config.rope_base = keys.optional_positive("rope.freq_base", 10000.0f);
    config.rope_base_window = keys.optional_positive(
        "rope.freq_base_swa", traits.window_rope_base > 0 ? traits.window_rope_base : config.rope_base);
    read_rope_scaling(keys, config);
}

// Which layers see a window alone. Only families that are made of window and full layers read these keys.
void read_window(Hyperparameters& keys, const FamilyTraits& traits, ModelConfig& config) {
    if (traits.window_pattern == 0) return;
    config.window_tokens = keys.optional("attention.sliding_window", 0, {0, kMaxContext});
    if (config.window_tokens == 0) return;
    const GgufEntry* entry = keys.entry("attention.sliding_window_pattern");
    const auto* array = entry ? std::get_if<std::shared_ptr<const GgufArray>>(&entry->value) : nullptr;
    if (!array) {
        config.window_pattern =
            keys.optional("attention.sliding_window_pattern", traits.window_pattern, {1, kMaxLayers});
        if (!keys.status().ok()) return;
        for (uint32_t i = 0; i < config.n_layers; ++i)
            config.layers[i].windowed = i % config.window_pattern < config.window_pattern - 1;
        return;
    }
    if ((*array)->element_type != GgufType::boolean || (*array)->size() != config.n_layers) {
        return keys.fail(
            StatusCode::model_invalid,
            fmt::format("{} is an array of {} {}, must hold one bool for each of {} layers.", entry->key,
                        (*array)->size(), gguf_type_name((*array)->element_type), config.n_layers));
    }
    for (uint32_t i = 0; i < config.n_layers; ++i) config.layers[i].windowed = (*array)->booleans[i] != 0;
}

void check_causal(Hyperparameters& keys, const FamilyTraits& traits) {
    if (traits.bidirectional || keys.flag("attention.causal").value_or(true)) return;
    keys.fail(StatusCode::model_unsupported,
              fmt::format("{} is false, takt runs this family with causal attention.",
                          keys.key("attention.causal")));
}

}  // namespace

Result<ModelConfig> ModelConfig::read(const GgufFile& file) {
    ModelConfig config;
    TAKT_RETURN_IF_ERROR(read_names(file, config));
    const FamilyTraits& traits = (*find_family(config.family))->traits;
    Hyperparameters keys(file, config.family);
    read_sizes(keys, traits, config);
    TAKT_RETURN_IF_ERROR(keys.status());
    read_rope(keys, traits, config);
    read_window(keys, traits, config);
    check_causal(keys, traits);
    TAKT_RETURN_IF_ERROR(keys.status());
    TAKT_RETURN_IF_ERROR(read_vocabulary_size(file, config));
    return config;
}

}  // namespace takt
