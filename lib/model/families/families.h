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

// What the shared part of a config must know of a family.
struct FamilyTraits {
    bool experts = false;                   // may have them
    bool layers_without_attention = false;  // attention.head_count_kv is 0 there
    bool layer_norm = false;                // its epsilon is layer_norm_epsilon, not the root mean square's
    bool bidirectional = false;             // attention.causal may be false
    uint32_t window_pattern = 0;            // of every so many layers the last sees everything; 0: no windows
    float window_rope_base = 0;             // of window layers where the file doesn't say; 0: as the others
};

struct Family {
    std::string_view name;  // general.architecture
    Result<Program> (*build)(const ModelConfig& config, const GgufFile& file);
    FamilyTraits traits = {};
};

const std::vector<Family>& families();
// model_unsupported with the name and the list of what there is.
Result<const Family*> find_family(std::string_view name);

}  // namespace takt
