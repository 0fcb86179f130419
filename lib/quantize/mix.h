// Which type each tensor of a model takes: named types and mixes, with the usual engine's rules for each
// tensor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/gguf_reader.h"
#include "tensor/dtype.h"

namespace takt {

enum class Mix : uint8_t { plain, q4_k_s, q4_k_m, q5_k_s, q5_k_m };

struct QuantizeType {
    std::string_view name;  // "q4_k_m"
    DType dtype;            // of most tensors
    Mix mix;
    uint32_t file_type;  // general.file_type
};

// Any case; q4_k and q5_k stand for the _m mixes. The error names all types.
Result<QuantizeType> find_quantize_type(std::string_view name);

// For every tensor of the file the type it is written in. Tensors that aren't matrices, norms among them,
// stay as they are; rows that aren't whole blocks take the nearest type of 32 elements, and float16 where
// that fails too. pure: all matrices in the one type.
struct TypePlan {
    std::vector<DType> dtypes;  // by index of tensors()
    uint32_t n_fallbacks = 0;
};
Result<TypePlan> plan_types(const GgufFile& file, const QuantizeType& type, bool pure, bool has_importance);

// Whether quantizing changes this tensor at all.
bool is_quantized_matrix(const GgufTensor& tensor);

}  // namespace takt
