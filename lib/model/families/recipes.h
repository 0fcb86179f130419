// The recipe of each family, one file each.
#pragma once

#include "base/status.h"
#include "gguf/gguf_reader.h"
#include "model/model_config.h"
#include "program/program.h"

namespace takt {

Result<Program> build_llama(const ModelConfig& config, const GgufFile& file);
Result<Program> build_qwen2(const ModelConfig& config, const GgufFile& file);
Result<Program> build_gemma3(const ModelConfig& config, const GgufFile& file);

}  // namespace takt
