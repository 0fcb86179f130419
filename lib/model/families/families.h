// The list of model families, written out by hand: a new one is a file beside this and a line in
// families.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_reader.h"
#include "model/model_config.h"
#include "program/program.h"

namespace takt {

struct Family {
    std::string_view name;  // general.architecture
    Result<Program> (*build)(const ModelConfig& config, const GgufFile& file);
};

const std::vector<Family>& families();
// model_unsupported with the name and the list of what there is.
Result<const Family*> find_family(std::string_view name);

}  // namespace takt
