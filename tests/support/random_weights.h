// Weights made up on the spot, of any type, for programs without a file.
#pragma once

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
        default:
            return {};
    }
}

class RandomWeights final : public WeightSource {
public:
    RandomWeights(const Program& program, uint32_t seed) : seed_(seed) {
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
    static std::vector<std::byte> make(const WeightDecl& weight, std::mt19937& random) {
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
                put(block + offset, f32_to_f16(0.01f * value(random)));
        }
        return bytes;
    }

    uint32_t seed_;
    std::map<std::string, std::vector<std::byte>> tensors_;
};

}  // namespace takt::test
