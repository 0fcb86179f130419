// Config, weights' places, tokenizer, template and program of one file. Immutable after load; binds no
// backend.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend/weight_source.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "gguf/gguf_reader.h"
#include "model/model_config.h"
#include "program/program.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace takt {

// A family's recipe, of model/families.
using BuildProgram = Result<Program> (*)(const ModelConfig& config, const GgufFile& file);

class Model final : public WeightSource {
public:
    // Checks metadata, tokenizer, every tensor's shape, and builds the program. Weights are read later, by a
    // backend. Warnings (an unknown extra tensor, a template that doesn't parse) go to the logger.
    // build: another recipe than that of the file's family; for tests.
    static Result<std::shared_ptr<const Model>> load(std::shared_ptr<const ByteSource> source,
                                                     const Logger& logger, BuildProgram build = nullptr);

    const GgufFile& file() const { return *file_; }
    const ModelConfig& config() const { return config_; }
    const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
    const std::shared_ptr<const Program>& program() const { return program_; }
    // The parsed template, template_missing ("the file has no chat template; …") or the parser's own error.
    Result<std::shared_ptr<const ChatTemplate>> chat_template() const;
    uint64_t weight_bytes() const;  // of all tensors the program uses, as in the file

    uint64_t fingerprint() const override { return file_->fingerprint(); }
    uint64_t instance() const override { return instance_; }
    std::optional<SourceIdentity> identity() const override;
    Status read(std::string_view weight, uint64_t offset_bytes, std::span<std::byte> out) const override;

private:
    Model() = default;
    Status read_file(const Logger& logger, BuildProgram build);

    std::shared_ptr<const GgufFile> file_;
    ModelConfig config_;
    std::shared_ptr<const Tokenizer> tokenizer_;
    std::shared_ptr<const Program> program_;
    std::shared_ptr<const ChatTemplate> chat_template_;
    Status template_status_;
    uint64_t instance_ = 0;
};

}  // namespace takt
