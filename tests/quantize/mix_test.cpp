// Which tensor takes which type: names, rules and fallbacks. The rules are held against files that llama.cpp
// made by tests/promises/models_quantize.py; here are the edges.
#include "quantize/mix.h"

#include <catch2/catch.hpp>

#include "quantize_files.h"

using namespace takt;
using namespace takt::test;

namespace {

struct Planned {
    std::vector<std::byte> bytes;
    std::shared_ptr<const GgufFile> file;
    TypePlan plan;

    Planned(const FloatModel& model, const char* type, bool pure = false, bool importance = false)
        : bytes(model.builder().build()),
          file(GgufFile::open(borrow_memory(bytes)).value()),
          plan(plan_types(*file, find_quantize_type(type).value(), pure, importance).value()) {}
    std::string of(const std::string& name) const {
        const GgufTensor* tensor = file->find_tensor(name);
        REQUIRE(tensor != nullptr);
        return std::string(
            dtype_info(plan.dtypes[static_cast<size_t>(tensor - file->tensors().data())]).name);
    }
    std::string layers(const std::string& part) const {
        std::string all;
        for (uint32_t layer = 0; layer < 16; ++layer) all += of(fmt_name(layer, part)) + " ";
        return all;
    }
    static std::string fmt_name(uint32_t layer, const std::string& part) {
        std::string name = "blk.";
        name += std::to_string(layer);
        return name + part;
    }
};

}  // namespace

TEST_CASE("Types are found in any case, and an unknown one is told with all there are") {
    CHECK(find_quantize_type("Q4_K_M")->file_type == 15);
    CHECK(find_quantize_type("q5_k")->name == "q5_k_m");
    CHECK(find_quantize_type("BF16")->dtype == DType::bf16);
    const auto unknown = find_quantize_type("iq4_xs");
    REQUIRE_FALSE(unknown.ok());
    CHECK(unknown.status().message().find("iq4_xs") != std::string::npos);
    CHECK(unknown.status().message().find("q4_k_s") != std::string::npos);
}

TEST_CASE("The mixes give more bits to the first and last eighth and to every third layer") {
    const Planned m(FloatModel{}, "q4_k_m");
    const std::string more =
        "q6_k q6_k q4_k q4_k q6_k q4_k q4_k q6_k q4_k q4_k q6_k q4_k q4_k q6_k q6_k q6_k ";
    CHECK(m.layers(".attn_v.weight") == more);
    CHECK(m.layers(".ffn_down.weight") == more);
    CHECK(m.of("blk.0.attn_q.weight") == "q4_k");
    CHECK(m.of("blk.0.attn_norm.weight") == "f32");
    CHECK(m.of("token_embd.weight") == "q6_k");  // it is the output too
    const Planned s(FloatModel{}, "q4_k_s");
    CHECK(s.of("blk.3.attn_v.weight") == "q5_k");
    CHECK(s.of("blk.4.attn_v.weight") == "q4_k");
    CHECK(s.of("blk.1.ffn_down.weight") == "q5_k");
    CHECK(s.of("blk.2.ffn_down.weight") == "q4_k");
    FloatModel untied;
    untied.tied = false;
    const Planned two(untied, "q5_k_s");
    CHECK(two.of("token_embd.weight") == "q5_k");
    CHECK(two.of("output.weight") == "q6_k");
    CHECK(Planned(FloatModel{}, "q4_0").of("token_embd.weight") == "q6_k");
    CHECK(Planned(FloatModel{}, "q8_0").of("token_embd.weight") == "q8_0");
    CHECK(Planned(FloatModel{}, "f16").of("token_embd.weight") == "f16");
    CHECK(Planned(FloatModel{}, "q4_k_m", true).of("blk.0.attn_v.weight") == "q4_k");
    CHECK(Planned(FloatModel{}, "q4_0", false, true).of("blk.1.ffn_down.weight") == "q4_1");
    CHECK(Planned(FloatModel{}, "q4_0", false, true).of("blk.2.ffn_down.weight") == "q4_0");
    FloatModel experts;
    experts.experts = 8;
    CHECK(Planned(experts, "q4_k_m").of("blk.5.attn_v.weight") == "q8_0");
}

TEST_CASE("Rows that are no whole blocks take a type of smaller ones, and float16 at last") {
    FloatModel narrow;
    narrow.width = 96;
    narrow.ffn = 72;
    const Planned m(narrow, "q4_k_m");
    CHECK(m.of("blk.5.attn_q.weight") == "q5_0");
    CHECK(m.of("blk.0.attn_v.weight") == "q8_0");
    CHECK(m.of("blk.5.attn_v.weight") == "q5_0");
    CHECK(m.of("blk.5.ffn_down.weight") == "f16");
    CHECK(m.of("token_embd.weight") == "q8_0");
    CHECK(m.plan.n_fallbacks == 16 * 3);
    CHECK(Planned(narrow, "q5_k_m").of("blk.5.attn_q.weight") == "q5_1");
}
