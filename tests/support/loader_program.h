// A program that reads weights of every type, some of many pieces, and a source of them that can misbehave.
#pragma once

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "program/builder.h"
#include "random_weights.h"

namespace takt::test {

// About 9 MB of weights: matrices of every type with a last panel that isn't full, a bias, a norm, a tied
// head.
inline std::shared_ptr<const Program> loader_program() {
    ProgramBuilder b("loader", 2005);
    const uint32_t width = 512;
    const WeightId table = b.weight("table", DType::q8_0, 2005, width);
    ValueId x = b.embed("x", table);
    x = b.rms_norm("normed", x, b.weight("norm", DType::f32, 1, width), 1e-5f);
    for (const DType dtype :
         {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::q4_k, DType::q5_k,
          DType::q6_k, DType::f32, DType::f16, DType::bf16, DType::iq3_s, DType::nvfp4}) {
        const std::string name(dtype_info(dtype).name);
        const ValueId wide = b.matmul(name + ".wide", x, b.weight(name + ".up", dtype, 1030, width),
                                      b.weight(name + ".bias", DType::f32, 1, 1030));
        const ValueId narrow = b.matmul(name + ".narrow", x, b.weight(name + ".down", dtype, width, width));
        x = b.add(name + ".sum", narrow, x);
        (void)wide;
    }
    const ValueId hidden = b.select_rows("hidden", x);
    const ValueId logits = b.matmul("logits", hidden, table);
    Result<Program> program = std::move(b).finish(hidden, logits);
    INFO(program.status().message());
    REQUIRE(program.ok());
    return std::make_shared<const Program>(std::move(*program));
}

// Random weights that pretend to come from a file.
class ScriptedWeights final : public WeightSource {
public:
    ScriptedWeights(const Program& program, uint32_t seed) : inner_(program, seed) {}
    uint64_t fingerprint() const override { return fingerprint_; }
    uint64_t instance() const override { return inner_.instance(); }
    std::optional<SourceIdentity> identity() const override { return identity_; }
    Status read(std::string_view weight, uint64_t offset_bytes, std::span<std::byte> out) const override {
        if (before_read_) TAKT_RETURN_IF_ERROR(before_read_(weight, offset_bytes));
        return inner_.read(weight, offset_bytes, out);
    }

    uint64_t fingerprint_ = 7;
    std::optional<SourceIdentity> identity_ = SourceIdentity{123456, 42};
    std::function<Status(std::string_view weight, uint64_t offset_bytes)> before_read_;  // any thread

private:
    RandomWeights inner_;
};

}  // namespace takt::test
