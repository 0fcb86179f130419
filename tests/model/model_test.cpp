// Whole files to models: which load, which are refused by name, and what a model then answers.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "program/printer.h"
#include "tiny_models.h"

using namespace takt;
using namespace takt::test;

TEST_CASE("Every tiny model of a supported family and type loads") {
    for (const char* name : kTinyFamilies) CHECK(load_tiny(name)->program()->vocab_size == 384);
    for (const char* name : kTinyQuants) CHECK(load_tiny(name)->program()->family == "llama");
}

TEST_CASE("The program of a tiny llama is the one on record") {
    std::ifstream file(std::string(TAKT_TEST_DATA_DIR) + "/programs/llama.txt");
    REQUIRE(file.good());
    std::stringstream expected;
    expected << file.rdbuf();
    CHECK(print_program(*load_tiny("llama")->program()) == expected.str());
}

TEST_CASE("A head that the file lacks is the embedding itself") {
    const auto model = load_tiny("qwen2");
    const Program& program = *model->program();
    const auto& head = std::get<MatmulOp>(program.ops.back());
    CHECK(program.weight(head.weight).name == "token_embd.weight");
    CHECK(std::get<EmbedOp>(program.ops.front()).table == head.weight);
}

TEST_CASE("Gemma 3 keeps its window layers in a group of their own") {
    const auto model = load_tiny("gemma3");
    const Program& program = *model->program();
    REQUIRE(program.groups.size() == 2);
    CHECK(program.groups[0].window == 0);
    CHECK(program.groups[1].window == 16);
    REQUIRE(program.states.size() == 7);
    for (size_t layer = 0; layer < 7; ++layer) CHECK(program.states[layer].group == (layer == 5 ? 0 : 1));
}

TEST_CASE("Weights are read by name and offset, and never past their end") {
    const auto model = load_tiny("llama");
    std::vector<std::byte> whole(64 * sizeof(float)), part(8);
    REQUIRE(model->read("output_norm.weight", 0, whole).ok());
    REQUIRE(model->read("output_norm.weight", 16, part).ok());
    CHECK(std::equal(part.begin(), part.end(), whole.begin() + 16));
    CHECK(model->read("output_norm.weight", whole.size() - 4, part).code() == StatusCode::invalid_argument);
    CHECK(model->read("output_norm.weight", ~uint64_t{0}, part).code() == StatusCode::invalid_argument);
    CHECK(model->read("no.such.weight", 0, part).code() == StatusCode::not_found);
}

TEST_CASE("Two loads of one file are two instances with one fingerprint") {
    std::set<uint64_t> instances;
    std::vector<std::shared_ptr<const Model>> alive;
    for (int i = 0; i < 20; ++i) {
        alive.push_back(load_tiny("llama"));
        instances.insert(alive.back()->instance());
        CHECK(alive.back()->fingerprint() == alive.front()->fingerprint());
    }
    for (int i = 0; i < 20; ++i)
        instances.insert(load_tiny("llama")->instance());  // places in memory used again
    CHECK(instances.size() == 40);
    CHECK(load_tiny("qwen2")->fingerprint() != alive.front()->fingerprint());
}

TEST_CASE("The bytes of a model's weights are counted as they stand in the file") {
    const auto model = load_tiny("quant-q8_0");
    uint64_t expected = 0;
    for (const GgufTensor& tensor : model->file().tensors()) expected += tensor.size_bytes;
    CHECK(model->weight_bytes() == expected);
}

TEST_CASE("A model without a chat template says so") {
    const auto chat_template = load_tiny("gemma3")->chat_template();
    REQUIRE_FALSE(chat_template.ok());
    CHECK(chat_template.status().code() == StatusCode::template_missing);
    CHECK(chat_template.status().message().find("tokenizer.chat_template") != std::string::npos);
}
