// One line per family.
#include "model/families/families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/families/recipes.h"

namespace takt {

const std::vector<Family>& families() {
    static const std::vector<Family> list = {
        {"gemma", build_gemma},
        {"gemma2", build_gemma2, {.window_pattern = 2}},
        {"gemma3", build_gemma3, {.window_pattern = 6, .window_rope_base = 10000.0f}},
        {"gpt-oss", build_gpt_oss, {.experts = true, .window_pattern = 2}},
        {"granite", build_granite},
        {"granitemoe", build_granite, {.experts = true}},
        {"lfm2", build_lfm2, {.layers_without_attention = true}},
        {"lfm2moe", build_lfm2, {.experts = true, .layers_without_attention = true}},
        {"llama", build_llama, {.experts = true}},
        {"mistral3", build_mistral3, {.experts = true}},
        {"olmo2", build_olmo2},
        {"phi3", build_phi3},
        {"qwen2", build_qwen2},
        {"qwen2moe", build_qwen2moe, {.experts = true}},
        {"qwen3", build_qwen3},
        {"qwen3moe", build_qwen3, {.experts = true}},
        {"smollm3", build_smollm3},
    };
    return list;
}

Result<const Family*> find_family(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Family& family : families()) {
        if (family.name == name) return &family;
        names.push_back(family.name);
    }
    return Status(StatusCode::model_unsupported,
                  fmt::format("Model family '{}' (general.architecture) is not supported; takt runs {}.",
                              name, fmt::join(names, ", ")));
}

}  // namespace takt
