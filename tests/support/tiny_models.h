// The tiny random models of golden/tiny and families with the logits an independent implementation gives.
#pragma once

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "model/model.h"

namespace takt::test {

constexpr const char* kTinyFamilies[] = {"llama",
                                         "llama-linear-rope",
                                         "llama3-rope",
                                         "llama-yarn",
                                         "mistral-as-llama",
                                         "mixtral",
                                         "qwen2",
                                         "qwen2-yarn",
                                         "qwen3",
                                         "qwen3moe",
                                         "gemma",
                                         "gemma2",
                                         "gemma3",
                                         "phi3",
                                         "olmo2",
                                         "granite",
                                         "granite-f16",
                                         "smollm3",
                                         "mistral3",

                                         "gpt-oss-f32"};
// LongRoPE's factors depend on the context that an engine is made for, so each sequence has its own here.
constexpr const char* kTinyLongRope = "phi3-longrope";
// Its experts are quantized, so that activations are too.
constexpr const char* kTinyMxfp4 = "gpt-oss";
// What the cpu backend doesn't run: recurrent state, and experts whose width is no multiple of 16.
constexpr const char* kTinyReferenceFamilies[] = {
    "lfm2", "lfm2-f16", "lfm2moe", "qwen2moe", "qwen2moe-f16", "granitemoe", "granitemoe-shared"};
constexpr const char* kTinyQuants[] = {
    "quant-f16",   "quant-bf16",   "quant-q4_0",   "quant-q4_1",  "quant-q5_0", "quant-q5_1",
    "quant-q8_0",  "quant-q4_k_m", "quant-q5_k_m", "quant-q6_k",  "quant-q2_k", "quant-q3_k_m",
    "quant-iq3_s", "quant-iq4_nl", "quant-iq4_xs", "quant-tq1_0", "quant-tq2_0"};

inline std::string tiny_path(const std::string& name, const char* extension = ".gguf") {
    const std::string data = TAKT_TEST_DATA_DIR, path = data + "/golden/tiny/" + name + extension;
    return std::filesystem::exists(path) ? path : data + "/families/" + name + extension;
}

inline Result<std::shared_ptr<const Model>> load_model(const std::string& path,
                                                       const Logger& logger = Logger()) {
    Result<std::shared_ptr<const ByteSource>> source = open_file(path);
    if (!source.ok()) return source.status();
    return Model::load(*source, logger);
}

inline std::shared_ptr<const Model> load_tiny(const std::string& name) {
    Result<std::shared_ptr<const Model>> model = load_model(tiny_path(name));
    INFO(name << ": " << model.status().message());
    REQUIRE(model.ok());
    return *model;
}

struct GoldenSequence {
    std::vector<int32_t> ids;
    std::vector<uint32_t> positions;  // those with known logits
    std::vector<float> logits;        // [positions.size()][vocab_size]
    uint32_t context_tokens = 0;      // of the engine
};

inline std::vector<GoldenSequence> golden_sequences(const std::string& name) {
    std::ifstream text(tiny_path(name, ".json")), data(tiny_path(name, ".logits.f32"), std::ios::binary);
    REQUIRE(text.good());
    REQUIRE(data.good());
    const nlohmann::json golden = nlohmann::json::parse(text);
    const size_t vocab_size = golden.at("vocab_size");
    std::vector<GoldenSequence> sequences;
    for (const nlohmann::json& entry : golden.at("sequences")) {
        GoldenSequence& sequence = sequences.emplace_back();
        sequence.ids = entry.at("ids").get<std::vector<int32_t>>();
        sequence.context_tokens = entry.value("context_tokens", static_cast<uint32_t>(sequence.ids.size()));
        sequence.positions = entry.at("logit_positions").get<std::vector<uint32_t>>();
        sequence.logits.resize(sequence.positions.size() * vocab_size);
        data.read(reinterpret_cast<char*>(sequence.logits.data()),
                  static_cast<std::streamsize>(sequence.logits.size() * sizeof(float)));
        REQUIRE(data.good());
    }
    return sequences;
}

}  // namespace takt::test
