// The rules of llama.cpp's quantizer for these types, so that a file of a known name is what that name means.
#include "quantize/mix.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "gguf/gguf_keys.h"

namespace takt {
namespace {

constexpr QuantizeType kTypes[] = {
    {"f32", DType::f32, Mix::plain, 0},       {"f16", DType::f16, Mix::plain, 1},
    {"bf16", DType::bf16, Mix::plain, 32},    {"q4_0", DType::q4_0, Mix::plain, 2},
    {"q4_1", DType::q4_1, Mix::plain, 3},     {"q5_0", DType::q5_0, Mix::plain, 8},
    {"q5_1", DType::q5_1, Mix::plain, 9},     {"q8_0", DType::q8_0, Mix::plain, 7},
    {"q4_k_s", DType::q4_k, Mix::q4_k_s, 14}, {"q4_k_m", DType::q4_k, Mix::q4_k_m, 15},
    {"q5_k_s", DType::q5_k, Mix::q5_k_s, 16}, {"q5_k_m", DType::q5_k, Mix::q5_k_m, 17},
    {"q6_k", DType::q6_k, Mix::plain, 18},
};

enum class Role : uint8_t { embedding, output, attention_v, attention_k, attention_output, ffn_down, other };

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

Role role_of(std::string_view name) {
    if (name == "output.weight") return Role::output;
    if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") return Role::embedding;
    for (const char* part : {"attn_v.weight", "attn_qkv.weight", "attn_kv_b.weight"}) {
        if (contains(name, part)) return Role::attention_v;
    }
    if (contains(name, "attn_k.weight")) return Role::attention_k;
    if (contains(name, "attn_output.weight")) return Role::attention_output;
    return contains(name, "ffn_down") ? Role::ffn_down : Role::other;
}

uint64_t layer_of(std::string_view name) {
    uint64_t layer = 0;
    if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
    return layer;
}

struct Facts {
    uint64_t n_layers = 0, n_experts = 1, n_heads = 0, n_kv_heads = 0;
    bool tied = true, has_importance = false;
    std::map<uint64_t, uint64_t> attention_v_rank;  // by layer
};

// Metadata that is missing or odd only means that its rule doesn't apply.
Facts facts_of(const GgufFile& file, bool has_importance) {
    Facts facts;
    facts.has_importance = has_importance;
    const auto architecture = file.get_string(gguf_keys::kArchitecture);
    const std::string prefix =
        architecture.ok() && architecture->has_value() ? std::string(**architecture) + "." : std::string();
    const auto number = [&](std::string_view key, uint64_t otherwise) {
        const auto value = file.get_uint(prefix + std::string(key));
        return value.ok() ? value->value_or(otherwise) : otherwise;
    };
    facts.n_layers = number(gguf_keys::kBlockCount, 0);
    facts.n_experts = number(gguf_keys::kExpertCount, 1);
    facts.n_heads = number(gguf_keys::kHeadCount, 0);
    facts.n_kv_heads = number(gguf_keys::kHeadCountKv, facts.n_heads);
    facts.tied = file.find_tensor("output.weight") == nullptr;
    for (const GgufTensor& tensor : file.tensors()) {
        if (role_of(tensor.name) == Role::attention_v) facts.attention_v_rank[layer_of(tensor.name)] = 0;
    }
    uint64_t rank = 0;
    for (auto& [layer, own] : facts.attention_v_rank) own = rank++;
    return facts;
}

// The first and the last eighth, and every third layer between.
bool gets_more_bits(uint64_t layer, uint64_t n_layers) {
    return layer < n_layers / 8 || layer >= 7 * n_layers / 8 || (layer - n_layers / 8) % 3 == 2;
}

DType attention_v_type(const Facts& facts, const QuantizeType& type, uint64_t layer) {
    const uint64_t rank = facts.attention_v_rank.at(layer), n = facts.attention_v_rank.size();
    if (facts.n_experts == 8) return DType::q8_0;
    const bool more = gets_more_bits(rank, n);
    if ((type.mix == Mix::q4_k_m || type.mix == Mix::q5_k_m) && more) return DType::q6_k;
    if (type.mix == Mix::q4_k_s && rank < 4) return DType::q5_k;
    const bool shared_by_eight = facts.n_layers == 80 && facts.n_heads != facts.n_kv_heads;
    return shared_by_eight && type.dtype == DType::q4_k ? DType::q5_k : type.dtype;
}

DType ffn_down_type(const Facts& facts, const QuantizeType& type, uint64_t layer) {
    const bool first_eighth = layer < facts.n_layers / 8;
    switch (type.mix) {
        case Mix::q4_k_m:
        case Mix::q5_k_m:
            return gets_more_bits(layer, facts.n_layers) ? DType::q6_k : type.dtype;
        case Mix::q4_k_s:
            return first_eighth ? DType::q5_k : type.dtype;
        case Mix::q5_k_s:
            return type.dtype;
        case Mix::plain:
            break;
    }
    // A scale alone does badly on the first of them once columns are weighted.
    if (!facts.has_importance || !first_eighth) return type.dtype;
    return type.dtype == DType::q4_0 ? DType::q4_1 : type.dtype == DType::q5_0 ? DType::q5_1 : type.dtype;
}

DType wanted_type(const Facts& facts, const QuantizeType& type, const GgufTensor& tensor) {
    const Role role = role_of(tensor.name);
    const uint64_t layer = layer_of(tensor.name);
    switch (role) {
        case Role::embedding:
            if (!facts.tied) return type.dtype;
            [[fallthrough]];
        case Role::output:
            if (tensor.dims[0] % dtype_info(type.dtype).block_elements != 0) return DType::q8_0;
            return type.dtype == DType::q8_0 ? DType::q8_0 : DType::q6_k;
        case Role::attention_v:
            return attention_v_type(facts, type, layer);
        case Role::attention_k:
            return facts.n_experts == 8 ? DType::q8_0 : type.dtype;
        case Role::attention_output:
            return facts.n_experts == 8 && type.dtype == DType::q4_k ? DType::q5_k : type.dtype;
        case Role::ffn_down:
            return ffn_down_type(facts, type, layer);
        case Role::other:
            break;
    }
    return type.dtype;
}

// The nearest type whose blocks these rows are made of.
DType fitting_type(DType wanted, uint64_t columns) {
    if (columns % dtype_info(wanted).block_elements == 0) return wanted;
    const DType small = wanted == DType::q4_k   ? DType::q5_0
                        : wanted == DType::q5_k ? DType::q5_1
                        : wanted == DType::q6_k ? DType::q8_0
                                                : wanted;
    return columns % dtype_info(small).block_elements == 0 ? small : DType::f16;
}

}  // namespace

Result<QuantizeType> find_quantize_type(std::string_view name) {
    std::string lower(name);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (lower == "q4_k" || lower == "q5_k") lower += "_m";
    std::string names;
    for (const QuantizeType& type : kTypes) {
        if (type.name == lower) return type;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", type.name);
    }
    return Status(StatusCode::invalid_argument,
                  fmt::format("Type {} is none that takt quantizes to: {}.", name, names));
}

bool is_quantized_matrix(const GgufTensor& tensor) {
    if (tensor.n_dims < 2 || !tensor.name.ends_with("weight")) return false;
    // Small, or kept exact because little is gained and much lost.
    constexpr std::string_view kKept[] = {
        "_norm.weight",         "ffn_gate_inp.weight", "altup",      "laurel",
        "per_layer_model_proj", "ssm_conv1d",          "time_mix_",  "shortconv.conv.weight",
        "attn_rel_b.weight",    "position_embd",       "token_types"};
    return std::ranges::none_of(kKept, [&](std::string_view part) { return contains(tensor.name, part); });
}

Result<TypePlan> plan_types(const GgufFile& file, const QuantizeType& type, bool pure, bool has_importance) {
    const Facts facts = facts_of(file, has_importance);
    TypePlan plan;
    for (const GgufTensor& tensor : file.tensors()) {
        DType dtype = tensor.dtype;
        if (is_quantized_matrix(tensor)) {
            const bool rules = !pure && is_block_quantized(type.dtype);
            const DType wanted = rules ? wanted_type(facts, type, tensor) : type.dtype;
            dtype = fitting_type(wanted, tensor.dims[0]);
            plan.n_fallbacks += dtype != wanted;
        }
        plan.dtypes.push_back(dtype);
    }
    return plan;
}

}  // namespace takt
