// Random tensors of every type as raw bytes with finite, moderate numbers, and their packed form, for tests
// of the CPU kernels.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/kernels/packed_matrix.h"
#include "tensor/dequantize.h"

namespace takt::test {

inline constexpr DType kAllDTypes[] = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                                       DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k,
                                       DType::f32,  DType::f16,  DType::bf16};

// Those without kernels of their own.
inline constexpr DType kRepackedDTypes[] = {
    DType::q2_k,  DType::q3_k,  DType::iq1_s,  DType::iq1_m,  DType::iq2_xxs, DType::iq2_xs,
    DType::iq2_s, DType::iq3_s, DType::iq4_nl, DType::iq4_xs, DType::iq3_xxs, DType::tq1_0,
    DType::tq2_0, DType::mxfp4, DType::nvfp4,  DType::q1_0,   DType::q2_0};

inline std::vector<std::byte> random_blocks(DType dtype, uint32_t rows, uint32_t cols, std::mt19937& random) {
    const DTypeInfo& info = dtype_info(dtype);
    std::vector<std::byte> bytes(rows * row_bytes(dtype, cols));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    std::normal_distribution<float> normal(0.0f, 0.05f);
    const auto put_half = [&](size_t at, float scale) {
        const uint16_t bits = f32_to_f16(normal(random) * scale);
        std::memcpy(bytes.data() + at, &bits, 2);
    };
    for (size_t at = 0; at < bytes.size(); at += info.block_bytes) {
        switch (dtype) {
            case DType::f32: {
                const float value = normal(random);
                std::memcpy(bytes.data() + at, &value, 4);
                break;
            }
            case DType::bf16: {
                const float value = normal(random);
                std::memcpy(bytes.data() + at, reinterpret_cast<const std::byte*>(&value) + 2, 2);
                break;
            }
            case DType::q6_k:
                put_half(at + 208, 0.01f);
                break;
            case DType::q4_1:
            case DType::q5_1:
                put_half(at, 1.0f);
                put_half(at + 2, 8.0f);
                break;
            case DType::q4_k:
            case DType::q5_k:
                put_half(at, 0.03f);
                put_half(at + 2, 0.1f);
                break;
            case DType::q2_k:
                put_half(at + 80, 0.03f);
                put_half(at + 82, 0.03f);
                break;
            case DType::q3_k:
                put_half(at + 108, 0.03f);
                break;
            case DType::tq1_0:
                put_half(at + 52, 1.0f);
                break;
            case DType::tq2_0:
                put_half(at + 64, 1.0f);
                break;
            case DType::mxfp4:
                bytes[at] = static_cast<std::byte>(118 + random() % 8);
                break;
            case DType::nvfp4:  // scales around 1/64
                for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::byte>(random() % 24);
                break;
            case DType::iq1_m: {
                const uint16_t bits = f32_to_f16(normal(random) * 0.1f);
                for (size_t i = 0; i < 4; ++i) {
                    std::byte& high = bytes[at + 49 + 2 * i];
                    high = (high & std::byte{15}) | static_cast<std::byte>((bits >> 4 * i & 15) << 4);
                }
                break;
            }
            case DType::iq1_s:
            case DType::iq2_xxs:
            case DType::iq2_xs:
            case DType::iq2_s:
            case DType::iq3_xxs:
            case DType::iq3_s:
            case DType::iq4_xs:
            case DType::iq4_nl:
                put_half(at, 0.03f);
                break;
            default:
                put_half(at, 1.0f);
        }
    }
    return bytes;
}

inline Result<cpu::PackedMatrix> pack_blocks(DType dtype, uint32_t rows, uint32_t cols,
                                             const std::vector<std::byte>& blocks, ThreadPool& pool) {
    const uint64_t stride = row_bytes(dtype, cols);
    const auto read = [&](uint64_t first_row, uint32_t n_rows, std::span<std::byte> out) -> Status {
        if (out.size() != n_rows * stride) return Status(StatusCode::internal, "a window isn't whole rows");
        std::memcpy(out.data(), blocks.data() + first_row * stride, out.size());
        return {};
    };
    return cpu::PackedMatrix::pack(dtype, rows, cols, read, pool);
}

inline std::vector<float> dequantize(DType dtype, uint32_t rows, uint32_t cols,
                                     const std::vector<std::byte>& blocks) {
    std::vector<float> out(size_t{rows} * cols);
    const uint64_t stride = row_bytes(dtype, cols);
    for (uint32_t row = 0; row < rows; ++row) {
        dequantize_row(dtype, std::span(blocks).subspan(row * stride, stride),
                       std::span(out).subspan(size_t{row} * cols, cols));
    }
    return out;
}

}  // namespace takt::test
