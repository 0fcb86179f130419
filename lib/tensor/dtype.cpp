// The table of tensor types, and the names of those that takt does not read.
#include "tensor/dtype.h"

#include <iterator>

#include "tensor/quant_blocks.h"

namespace takt {
namespace {

constexpr DTypeInfo kTypes[] = {
    {DType::f32, "f32", 1, 4},
    {DType::f16, "f16", 1, 2},
    {DType::bf16, "bf16", 1, 2},
    {DType::q4_0, "q4_0", kSmallBlock, sizeof(BlockQ4_0)},
    {DType::q4_1, "q4_1", kSmallBlock, sizeof(BlockQ4_1)},
    {DType::q5_0, "q5_0", kSmallBlock, sizeof(BlockQ5_0)},
    {DType::q5_1, "q5_1", kSmallBlock, sizeof(BlockQ5_1)},
    {DType::q8_0, "q8_0", kSmallBlock, sizeof(BlockQ8_0)},
    {DType::q4_k, "q4_k", kSuperBlock, sizeof(BlockQ4K)},
    {DType::q5_k, "q5_k", kSuperBlock, sizeof(BlockQ5K)},
    {DType::q6_k, "q6_k", kSuperBlock, sizeof(BlockQ6K)},
};

// By type id. Empty where takt reads the type. Ids 4, 5, 31 to 33 and 36 to 38 were given once and taken
// back.
constexpr std::string_view kForeignNames[] = {
    "",         "",         "",        "",      "q4_2",       "q4_3",       "",           "",
    "",         "q8_1",     "q2_k",    "q3_k",  "",           "",           "",           "q8_k",
    "iq2_xxs",  "iq2_xs",   "iq3_xxs", "iq1_s", "iq4_nl",     "iq3_s",      "iq2_s",      "iq4_xs",
    "i8",       "i16",      "i32",     "i64",   "f64",        "iq1_m",      "",           "q4_0_4_4",
    "q4_0_4_8", "q4_0_8_8", "tq1_0",   "tq2_0", "iq4_nl_4_4", "iq4_nl_4_8", "iq4_nl_8_8", "mxfp4",
    "nvfp4",    "q1_0",     "q2_0",
};
static_assert(kForeignNames[30].empty() && kForeignNames[21] == "iq3_s" && std::size(kForeignNames) == 43);

}  // namespace

const DTypeInfo* find_dtype(uint32_t gguf_type_id) {
    for (const DTypeInfo& info : kTypes) {
        if (static_cast<uint32_t>(info.dtype) == gguf_type_id) return &info;
    }
    return nullptr;
}

const DTypeInfo& dtype_info(DType dtype) {
    const DTypeInfo* info = find_dtype(static_cast<uint32_t>(dtype));
    return info != nullptr ? *info : kTypes[0];  // a DType always has a row
}

std::string_view foreign_dtype_name(uint32_t gguf_type_id) {
    return gguf_type_id < std::size(kForeignNames) ? kForeignNames[gguf_type_id] : std::string_view();
}

}  // namespace takt
