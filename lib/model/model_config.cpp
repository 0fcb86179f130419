// Reads and checks every hyperparameter; what takt would compute wrongly is refused here, by key and value.
#include "model/model_config.h"

#include <fmt/format.h>

#include "model/families/families.h"
#include "model/hyperparameters.h"

namespace takt {
namespace {

// Generous limits: far above any model, far below where a product of two could overflow 64 bits.
constexpr uint64_t kMaxLayers = 4096;
constexpr uint64_t kMaxWidth = 1u << 20;
constexpr uint64_t kMaxHeads = 1u << 14;
constexpr uint64_t kMaxContext = 1u << 30;
constexpr uint64_t kMaxVocabulary = 1u << 24;

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

void read_sizes(Hyperparameters& keys, ModelConfig& config) {
    config.n_layers = keys.required("block_count", {1, kMaxLayers});
    config.context_tokens = keys.required("context_length", {1, kMaxContext});
    config.embedding_dim = keys.required("embedding_length", {1, kMaxWidth});
    config.ffn_dim = keys.per_layer("feed_forward_length", std::nullopt, config.n_layers, {1, kMaxWidth});
    config.n_heads = keys.per_layer("attention.head_count", std::nullopt, config.n_layers, {1, kMaxHeads});
    config.n_kv_heads =
        keys.per_layer("attention.head_count_kv", config.n_heads, config.n_layers, {1, kMaxHeads});
    if (!keys.status().ok()) return;
    if (config.n_heads % config.n_kv_heads != 0) {
        return keys.fail(
            StatusCode::model_invalid,
            fmt::format("{} is {}, must divide {}, which is {}.", keys.key("attention.head_count_kv"),
                        config.n_kv_heads, keys.key("attention.head_count"), config.n_heads));
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
    config.rms_epsilon = keys.required_positive("attention.layer_norm_rms_epsilon");
    config.attention_soft_cap = keys.optional_or_zero("attn_logit_softcapping");
    config.final_soft_cap = keys.optional_or_zero("final_logit_softcapping");
}

void read_rope(Hyperparameters& keys, ModelConfig& config) {
    config.rope_rotated_dim = keys.optional("rope.dimension_count", config.key_dim, {1, kMaxWidth});
    if (keys.status().ok() &&
        (config.rope_rotated_dim % 2 != 0 || config.rope_rotated_dim > config.key_dim)) {
        keys.fail(StatusCode::model_invalid,
                  fmt::format("{} is {}, must be even and at most the head size {}.",
                              keys.key("rope.dimension_count"), config.rope_rotated_dim, config.key_dim));
    }
    config.rope_base = keys.optional_positive("rope.freq_base", 10000.0f);
    config.rope_base_window =
        keys.optional_positive("rope.freq_base_swa", config.family == "gemma3" ? 10000.0f : config.rope_base);

    // Positions are divided by the factor; 0 stands for "none". A file with a factor but no type means linear
    // scaling.
    const std::string type = keys.text("rope.scaling.type");
    const bool old_name = !keys.has("rope.scaling.factor") && keys.has("rope.scale_linear");
    const float factor = keys.optional_or_zero(old_name ? "rope.scale_linear" : "rope.scaling.factor");
    if (type != "" && type != "none" && type != "linear") {
        keys.fail(StatusCode::model_unsupported,
                  fmt::format("{} is '{}', takt runs none and linear.", keys.key("rope.scaling.type"), type));
    }
    if (type != "none" && factor != 0) config.rope_frequency_scale = 1.0f / factor;
    if (keys.status().ok() && config.rope_frequency_scale <= 0) {
        keys.fail(StatusCode::model_invalid,
                  fmt::format("{} is {}, too large.", keys.key("rope.scaling.factor"), factor));
    }
    const float attention_factor = keys.optional_positive("rope.scaling.attn_factor", 1.0f);
    if (attention_factor != 1.0f) {
        keys.fail(StatusCode::model_unsupported,
                  fmt::format("{} is {}, takt runs models without it.", keys.key("rope.scaling.attn_factor"),
                              attention_factor));
    }
}

// Which layers see a window alone. Only families that are made of window and full layers read these keys.
void read_window(Hyperparameters& keys, ModelConfig& config) {
    config.window_layers.assign(config.n_layers, false);
    if (config.family != "gemma3") return;
    config.window_tokens = keys.optional("attention.sliding_window", 0, {0, kMaxContext});
    if (config.window_tokens == 0) return;
    const GgufEntry* entry = keys.entry("attention.sliding_window_pattern");
    const auto* array = entry ? std::get_if<std::shared_ptr<const GgufArray>>(&entry->value) : nullptr;
    if (!array) {
        config.window_pattern = keys.optional("attention.sliding_window_pattern", 6, {1, kMaxLayers});
        if (!keys.status().ok()) return;
        for (uint32_t i = 0; i < config.n_layers; ++i)
            config.window_layers[i] = i % config.window_pattern < config.window_pattern - 1;
        return;
    }
    if ((*array)->element_type != GgufType::boolean || (*array)->size() != config.n_layers) {
        return keys.fail(
            StatusCode::model_invalid,
            fmt::format("{} is an array of {} {}, must hold one bool for each of {} layers.", entry->key,
                        (*array)->size(), gguf_type_name((*array)->element_type), config.n_layers));
    }
    for (uint32_t i = 0; i < config.n_layers; ++i) config.window_layers[i] = (*array)->booleans[i] != 0;
}

// Features that change the arithmetic and that no recipe of takt has yet.
void refuse_unsupported(Hyperparameters& keys) {
    const uint32_t n_experts = keys.optional("expert_count", 0, {0, UINT32_MAX});
    if (n_experts > 0) {
        keys.fail(StatusCode::model_unsupported,
                  fmt::format("{} is {}, takt doesn't run mixtures of experts yet.", keys.key("expert_count"),
                              n_experts));
    }
    if (!keys.flag("attention.causal").value_or(true)) {
        keys.fail(StatusCode::model_unsupported,
                  fmt::format("{} is false, takt runs causal models.", keys.key("attention.causal")));
    }
}

}  // namespace

Result<ModelConfig> ModelConfig::read(const GgufFile& file) {
    ModelConfig config;
    TAKT_RETURN_IF_ERROR(read_names(file, config));
    Hyperparameters keys(file, config.family);
    read_sizes(keys, config);
    TAKT_RETURN_IF_ERROR(keys.status());
    read_rope(keys, config);
    read_window(keys, config);
    refuse_unsupported(keys);
    TAKT_RETURN_IF_ERROR(keys.status());
    TAKT_RETURN_IF_ERROR(read_vocabulary_size(file, config));
    return config;
}

}  // namespace takt
