// The recipe of each family, one file each.
#pragma once

#include "base/status.h"
#include "gguf/gguf_reader.h"
#include "model/model_config.h"
#include "program/program.h"

namespace takt {

Result<Program> build_gemma(const ModelConfig& config, const GgufFile& file);
Result<Program> build_gemma2(const ModelConfig& config, const GgufFile& file);
Result<Program> build_gemma3(const ModelConfig& config, const GgufFile& file);
Result<Program> build_gpt_oss(const ModelConfig& config, const GgufFile& file);
Result<Program> build_granite(const ModelConfig& config, const GgufFile& file);
Result<Program> build_lfm2(const ModelConfig& config, const GgufFile& file);
Result<Program> build_llama(const ModelConfig& config, const GgufFile& file);
Result<Program> build_mistral3(const ModelConfig& config, const GgufFile& file);
Result<Program> build_olmo2(const ModelConfig& config, const GgufFile& file);
Result<Program> build_phi3(const ModelConfig& config, const GgufFile& file);
Result<Program> build_qwen2(const ModelConfig& config, const GgufFile& file);
Result<Program> build_qwen2moe(const ModelConfig& config, const GgufFile& file);
Result<Program> build_qwen3(const ModelConfig& config, const GgufFile& file);
Result<Program> build_smollm3(const ModelConfig& config, const GgufFile& file);

}  // namespace takt
