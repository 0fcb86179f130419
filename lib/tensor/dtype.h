// Element and block types of tensors: names, block lengths, sizes in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace takt {

// The values are GGUF's own type ids.
enum class DType : uint32_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q2_k = 10,
    q3_k = 11,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    iq2_xxs = 16,
    iq2_xs = 17,
    iq3_xxs = 18,
    iq1_s = 19,
    iq4_nl = 20,
    iq3_s = 21,
    iq2_s = 22,
    iq4_xs = 23,
    iq1_m = 29,
    bf16 = 30,
    tq1_0 = 34,
    tq2_0 = 35,
    mxfp4 = 39,
    nvfp4 = 40,
    q1_0 = 41,
    q2_0 = 42,
};

struct DTypeInfo {
    DType dtype;
    std::string_view name;    // "q4_k"
    uint32_t block_elements;  // 1 for plain types, else 32 to 256
    uint32_t block_bytes;
};

// nullptr: not a type that takt reads.
const DTypeInfo* find_dtype(uint32_t gguf_type_id);
const DTypeInfo& dtype_info(DType dtype);
// The name of a type id that takt doesn't read: one of GGUF's ("i8"), a retired one, or a fork's ("iq4_k").
// Empty for ids that mean nothing.
std::string_view foreign_dtype_name(uint32_t gguf_type_id);

inline bool is_block_quantized(DType dtype) {
    return dtype_info(dtype).block_elements > 1;
}
// n_elements must be a multiple of the block length.
inline uint64_t row_bytes(DType dtype, uint64_t n_elements) {
    const DTypeInfo& info = dtype_info(dtype);
    return n_elements / info.block_elements * info.block_bytes;
}

}  // namespace takt
