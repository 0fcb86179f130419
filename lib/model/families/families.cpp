// One line per family.
#include "model/families/families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/families/recipes.h"

namespace takt {

const std::vector<Family>& families() {
    static const std::vector<Family> list = {
        {"llama", build_llama},
        {"qwen2", build_qwen2},
        {"gemma3", build_gemma3},
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
