// The table of tensor types, and the names of those that takt does not read.
#include "tensor/dtype.h"

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
    {DType::q2_k, "q2_k", kSuperBlock, sizeof(BlockQ2K)},
    {DType::q3_k, "q3_k", kSuperBlock, sizeof(BlockQ3K)},
    {DType::q4_k, "q4_k", kSuperBlock, sizeof(BlockQ4K)},
    {DType::q5_k, "q5_k", kSuperBlock, sizeof(BlockQ5K)},
    {DType::q6_k, "q6_k", kSuperBlock, sizeof(BlockQ6K)},
    {DType::iq1_s, "iq1_s", kSuperBlock, sizeof(BlockIq1S)},
    {DType::iq1_m, "iq1_m", kSuperBlock, sizeof(BlockIq1M)},
    {DType::iq2_xxs, "iq2_xxs", kSuperBlock, sizeof(BlockIq2Xxs)},
    {DType::iq2_xs, "iq2_xs", kSuperBlock, sizeof(BlockIq2Xs)},
    {DType::iq2_s, "iq2_s", kSuperBlock, sizeof(BlockIq2S)},
    {DType::iq3_xxs, "iq3_xxs", kSuperBlock, sizeof(BlockIq3Xxs)},
    {DType::iq3_s, "iq3_s", kSuperBlock, sizeof(BlockIq3S)},
    {DType::iq4_nl, "iq4_nl", kSmallBlock, sizeof(BlockIq4Nl)},
    {DType::iq4_xs, "iq4_xs", kSuperBlock, sizeof(BlockIq4Xs)},
    {DType::tq1_0, "tq1_0", kSuperBlock, sizeof(BlockTq1_0)},
    {DType::tq2_0, "tq2_0", kSuperBlock, sizeof(BlockTq2_0)},
    {DType::mxfp4, "mxfp4", kSmallBlock, sizeof(BlockMxfp4)},
    {DType::nvfp4, "nvfp4", 64, sizeof(BlockNvfp4)},
    {DType::q1_0, "q1_0", 128, sizeof(BlockQ1_0)},
    {DType::q2_0, "q2_0", 64, sizeof(BlockQ2_0)},
};

struct ForeignName {
    uint32_t id;
    std::string_view name;
};

// Ids 4, 5, 31 to 33 and 36 to 38 were given once and taken back. From 97 on they are those of ik_llama.cpp.
constexpr ForeignName kForeignNames[] = {
    {4, "q4_2"},         {5, "q4_3"},        {9, "q8_1"},         {15, "q8_k"},       {24, "i8"},
    {25, "i16"},         {26, "i32"},        {27, "i64"},         {28, "f64"},        {31, "q4_0_4_4"},
    {32, "q4_0_4_8"},    {33, "q4_0_8_8"},   {36, "iq4_nl_4_4"},  {37, "iq4_nl_4_8"}, {38, "iq4_nl_8_8"},
    {97, "q8_0_x4"},     {98, "q8_1_x4"},    {99, "q8_2_x4"},     {133, "q6_0"},      {134, "iq1_bn"},
    {135, "iq2_bn"},     {136, "q8_k64"},    {137, "iq2_k"},      {138, "iq3_k"},     {139, "iq4_k"},
    {140, "iq5_k"},      {141, "iq6_k"},     {144, "iq4_ks"},     {145, "iq2_ks"},    {146, "iq4_kss"},
    {147, "q8_k16"},     {148, "q8_k32"},    {149, "q8_kr8"},     {150, "q8_k128"},   {151, "q8_kv"},
    {152, "iq5_ks"},     {153, "iq2_kt"},    {154, "iq3_kt"},     {155, "iq4_kt"},    {156, "iq3_ks"},
    {157, "iq2_kl"},     {158, "iq1_kt"},    {202, "q4_0_r8"},    {206, "q5_0_r4"},   {208, "q8_0_r8"},
    {210, "q2_k_r4"},    {211, "q3_k_r4"},   {212, "q4_k_r4"},    {213, "q5_k_r4"},   {214, "q6_k_r4"},
    {216, "iq2_xxs_r4"}, {217, "iq2_xs_r4"}, {218, "iq3_xxs_r4"}, {219, "iq1_s_r4"},  {220, "iq4_nl_r4"},
    {221, "iq3_s_r4"},   {222, "iq2_s_r4"},  {223, "iq4_xs_r8"},  {229, "iq1_m_r4"},  {230, "bf16_r16"},
    {233, "q6_0_r4"},    {335, "iq2_bn_r4"}, {337, "iq2_k_r4"},   {338, "iq3_k_r4"},  {339, "iq4_k_r4"},
    {340, "iq5_k_r4"},   {344, "iq4_ks_r4"}, {352, "iq5_ks_r4"},  {398, "q8_kv_r8"},  {399, "q8_k_r8"},
};

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
    for (const ForeignName& foreign : kForeignNames) {
        if (foreign.id == gguf_type_id) return foreign.name;
    }
    return {};
}

}  // namespace takt
