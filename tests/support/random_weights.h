// Weights made up on the spot, of any type, for programs without a file.
#pragma once

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "backend/weight_source.h"
#include "program/program.h"
#include "tensor/dequantize.h"

namespace takt::test {

// Where a block keeps its float16 scales; everything else of a block may hold any bits.
inline std::vector<uint32_t> scale_offsets(DType dtype) {
    switch (dtype) {
        case DType::q4_0:
        case DType::q5_0:
        case DType::q8_0:
            return {0};
        case DType::q4_1:
        case DType::q5_1:
        case DType::q4_k:
        case DType::q5_k:
            return {0, 2};
        case DType::q6_k:
            return {208};
        case DType::q2_k:
            return {80, 82};
        case DType::q3_k:
            return {108};
        case DType::tq1_0:
            return {52};
        case DType::tq2_0:
            return {64};
        case DType::iq1_s:
        case DType::iq2_xxs:
        case DType::iq2_xs:
        case DType::iq2_s:
        case DType::iq3_xxs:
        case DType::iq3_s:
        case DType::iq4_nl:
        case DType::iq4_xs:
        case DType::q1_0:
        case DType::q2_0:
            return {0};
        default:
            return {};
    }
}

class RandomWeights final : public WeightSource {
public:
    // scale: the largest of a block's float16 scales.
    RandomWeights(const Program& program, uint32_t seed, float scale = 0.01f) : seed_(seed), scale_(scale) {
        std::mt19937 random(seed);
        for (const WeightDecl& weight : program.weights) tensors_[weight.name] = make(weight, random);
    }

    uint64_t fingerprint() const override { return seed_; }
    uint64_t instance() const override { return seed_; }
    Status read(std::string_view weight, uint64_t offset_bytes, std::span<std::byte> out) const override {
        const auto found = tensors_.find(std::string(weight));
        if (found == tensors_.end()) return Status(StatusCode::not_found, "no weight " + std::string(weight));
        if (offset_bytes + out.size() > found->second.size())
            return Status(StatusCode::file_truncated, "read past " + std::string(weight));
        std::memcpy(out.data(), found->second.data() + offset_bytes, out.size());
        return {};
    }

private:
    std::vector<std::byte> make(const WeightDecl& weight, std::mt19937& random) const {
        std::vector<std::byte> bytes(row_bytes(weight.dtype, weight.columns) * weight.rows);
        std::uniform_real_distribution<float> value(-1, 1);
        auto put = [&](size_t at, const auto& number) {
            std::memcpy(bytes.data() + at, &number, sizeof number);
        };
        const DTypeInfo& info = dtype_info(weight.dtype);
        if (info.block_elements == 1) {
            for (size_t at = 0; at < bytes.size(); at += info.block_bytes) {
                float number = value(random);
                if (weight.name == "factors")
                    number = 2.5f + number;  // of RoPE: models have 1 to 32, never near 0
                uint32_t bits;
                std::memcpy(&bits, &number, sizeof bits);
                if (weight.dtype == DType::f32)
                    put(at, number);
                else if (weight.dtype == DType::f16)
                    put(at, f32_to_f16(number));
                else
                    put(at, static_cast<uint16_t>(bits >> 16));
            }
            return bytes;
        }
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        for (size_t block = 0; block < bytes.size(); block += info.block_bytes) {
            for (uint32_t offset : scale_offsets(weight.dtype))
                put(block + offset, f32_to_f16(scale_ * value(random)));
            bound_other_scales(weight.dtype, scale_, bytes.data() + block);
        }
        return bytes;
    }

    // Scales that are no float16 of their own. Those of nvfp4 stay below 1/64.
    static void bound_other_scales(DType dtype, float scale, std::byte* block) {
        if (dtype == DType::mxfp4) block[0] = static_cast<std::byte>(128 + std::ilogb(scale));
        for (size_t i = 0; dtype == DType::nvfp4 && i < 4; ++i) block[i] &= std::byte{15};
        const uint16_t d = f32_to_f16(scale);
        for (size_t i = 0; dtype == DType::iq1_m && i < 4; ++i) {
            std::byte& high = block[49 + 2 * i];
            high = (high & std::byte{15}) | static_cast<std::byte>((d >> 4 * i & 15) << 4);
        }
    }

    uint32_t seed_;
    float scale_;
    std::map<std::string, std::vector<std::byte>> tensors_;
};

}  // namespace takt::test
