// What recipes share: tensors found by name with the shape they must have, and the parts most families are
// made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "gguf/gguf_reader.h"
#include "model/model_config.h"
#include "program/builder.h"

namespace takt {

// Names are those of the current layer ("blk.3.attn_q") once enter_layer was called. The first missing or
// misshapen tensor is kept and returned by finish().
class Parts {
public:
    Parts(const ModelConfig& config, const GgufFile& file);

    ProgramBuilder& builder() { return builder_; }
    void enter_layer(uint32_t layer);
    std::string name(std::string_view part) const { return prefix_ + std::string(part); }

    // Two dimensions, any type takt reads.
    WeightId matrix(std::string_view tensor, uint32_t rows, uint32_t columns);
    // One dimension, float32.
    WeightId vector(std::string_view tensor, uint32_t size);
    WeightId optional_vector(std::string_view tensor, uint32_t size);

    ValueId embed();
    ValueId norm(std::string_view part, ValueId in);                          // weight as wide as the row
    ValueId head_norm(std::string_view part, ValueId in, uint32_t head_dim);  // weight one head wide
    enum class Bias { if_present, required };
    ValueId linear(std::string_view part, ValueId in, uint32_t out_width, Bias bias = Bias::if_present);
    ValueId gated_ffn(ValueId in, Activation activation);
    // Appends this layer's keys and values, attends, and projects back to the embedding's width.
    ValueId attend(uint32_t group, ValueId query, ValueId keys, ValueId values, float scale);

    // Final norm and head on the rows that need them; the head is the embedding where the file has none.
    Result<Program> finish(ValueId last) &&;

private:
    const GgufTensor* find(const std::string& tensor);
    WeightId vocabulary_matrix(std::string_view tensor);
    void fail(StatusCode code, std::string message);
    void check_shape(const GgufTensor& tensor, uint64_t columns, uint64_t rows);

    const ModelConfig& config_;
    const GgufFile& file_;
    ProgramBuilder builder_;
    std::string prefix_;
    Status status_;
};

// The usual scale of attention scores.
float attention_scale(uint32_t head_dim);
RopeOp rope_shape(const ModelConfig& config, RopeStyle style, float base, float frequency_scale,
                  WeightId factors = {});

}  // namespace takt
