// Every given tokenization case, as the models' own tokenizers give it, in both directions.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "test_models.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"

using namespace takt;
using nlohmann::json;

namespace {

const std::string kGolden = TAKT_TEST_DATA_DIR "/golden/";

json read_json(const std::string& path) {
    std::ifstream stream(path);
    INFO(path);
    REQUIRE(stream.good());
    return json::parse(stream);
}

std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& path) {
    Result<std::shared_ptr<const ByteSource>> source = open_file(path);
    INFO(source.status().message());
    REQUIRE(source.ok());
    Result<std::shared_ptr<const GgufFile>> file = GgufFile::open(*source);
    INFO(file.status().message());
    REQUIRE(file.ok());
    Result<std::shared_ptr<const Tokenizer>> tokenizer = Tokenizer::create(**file);
    INFO(tokenizer.status().message());
    REQUIRE(tokenizer.ok());
    return *tokenizer;
}

std::string input_bytes(const json& item) {
    std::string bytes;
    if (item.contains("repeat")) {
        for (size_t i = 0; i < item["repeat"][1].get<size_t>(); ++i)
            bytes += item["repeat"][0].get<std::string>();
    } else {
        const std::string hex = item["hex"];
        for (size_t i = 0; i + 1 < hex.size(); i += 2)
            bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    return bytes;
}

std::string decode(const std::shared_ptr<const Tokenizer>& tokenizer, std::vector<int32_t> ids) {
    if (!ids.empty() && tokenizer->adds_bos() && ids[0] == tokenizer->bos_id()) ids.erase(ids.begin());
    Detokenizer detokenizer(tokenizer, true, false);
    std::string text;
    for (const int32_t id : ids) text += detokenizer.append(id, false);
    return text + detokenizer.flush(false);
}

void check_case(const std::shared_ptr<const Tokenizer>& tokenizer, const json& item) {
    const std::string bytes = input_bytes(item);
    INFO(item["name"].get<std::string>() << ": " << item.value("text", item.value("hex", std::string())));
    const EncodeOptions options{item["add_special"].get<bool>(), item["parse_special"].get<bool>()};
    const Result<std::vector<int32_t>> ids = tokenizer->encode(bytes, options);
    if (item["ids"].is_null()) {
        // Not UTF-8: either every byte comes back, or the error names the byte that has no token.
        if (ids.ok()) {
            CHECK(decode(tokenizer, *ids) == bytes);
        } else {
            CHECK(ids.status().message().find("at offset") != std::string::npos);
        }
        return;
    }
    INFO(ids.status().message());
    REQUIRE(ids.ok());
    CHECK(*ids == item["ids"].get<std::vector<int32_t>>());
    const std::string expected = item.contains("decoded") ? item["decoded"].get<std::string>() : bytes;
    CHECK(decode(tokenizer, *ids) == expected);
}

void check_model(const std::string& model) {
    const std::string path = test::model_path(model + ".gguf");
    if (path.empty()) return;
    json golden = read_json(kGolden + "tokenize_" + model + ".json");
    if (golden.contains("same_as")) golden = read_json(kGolden + golden["same_as"].get<std::string>());
    const std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer(path);
    REQUIRE(golden["cases"].size() > 100);
    for (const json& item : golden["cases"]) check_case(tokenizer, item);
}

// Where the usual engine would have stopped along its own greedy tokens.
void check_first_end(const std::string& model) {
    const std::string path = test::model_path(model + ".gguf");
    if (path.empty()) return;
    const std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer(path);
    const json golden = read_json(kGolden + "greedy_" + model + ".json");
    REQUIRE(!golden["cases"].empty());
    for (const json& item : golden["cases"]) {
        INFO(item["text"].get<std::string>());
        const std::vector<int32_t> ids = item["ids"];
        const auto end = std::find_if(ids.begin(), ids.end(),
                                      [&](int32_t id) { return tokenizer->is_end_of_generation(id); });
        const json expected = item["first_eog"];
        if (expected.is_null()) {
            CHECK(end == ids.end());
        } else {
            CHECK(end - ids.begin() == expected.get<ptrdiff_t>());
        }
        const std::vector<int32_t> prompt = item["prompt_ids"];
        const EncodeOptions options{item["add_special"].get<bool>(), item["parse_special"].get<bool>()};
        Result<std::vector<int32_t>> encoded = tokenizer->encode(item["text"].get<std::string>(), options);
        REQUIRE(encoded.ok());
        CHECK(*encoded == prompt);
    }
}

}  // namespace

TEST_CASE("SmolLM2 tokenizes every golden case as its own tokenizer does") {
    check_model("smollm2-135m-instruct-q4_1");
}
TEST_CASE("Gemma 3 tokenizes every golden case as its own tokenizer does") {
    check_model("gemma-3-270m-q4_k_m");
}
TEST_CASE("Qwen2.5 Coder 0.5B tokenizes every golden case as its own tokenizer does") {
    check_model("qwen2.5-coder-0.5b-instruct-q4_k_m");
}
TEST_CASE("Qwen2.5 Coder 1.5B tokenizes every golden case as its own tokenizer does") {
    check_model("qwen2.5-coder-1.5b-instruct-q4_k_m");
}

TEST_CASE("Golden prompts give the golden ids and end where the golden generation ends") {
    check_first_end("smollm2-135m-instruct-q4_1");
    check_first_end("gemma-3-270m-q4_k_m");
    check_first_end("qwen2.5-coder-0.5b-instruct-q4_k_m");
    check_first_end("qwen2.5-coder-1.5b-instruct-q4_k_m");
}

TEST_CASE("The tiny models tokenize their golden texts") {
    size_t n_models = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kGolden + "tiny")) {
        if (entry.path().extension() != ".json") continue;
        const json golden = read_json(entry.path());
        const std::string path = kGolden + "tiny/" + golden["file"].get<std::string>();
        INFO(path);
        // A file with a tensor type that takt doesn't read has no tokenizer to test.
        Result<std::shared_ptr<const ByteSource>> source = open_file(path);
        REQUIRE(source.ok());
        if (!GgufFile::open(*source).ok()) continue;
        const std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer(path);
        ++n_models;
        for (const json& item : golden["tokenize"]) {
            const std::string text = item["text"];
            INFO(text);
            const Result<std::vector<int32_t>> ids =
                tokenizer->encode(text, {item["add_special"].get<bool>(), item["parse_special"].get<bool>()});
            REQUIRE(ids.ok());
            CHECK(*ids == item["ids"].get<std::vector<int32_t>>());
            CHECK(decode(tokenizer, *ids) == text);
        }
    }
    CHECK(n_models >= 20);
}
