// Hyperparameters as the tiny files and the odd but valid ones state them.
#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>

#include "model/families/families.h"
#include "model/model_config.h"
#include "temporary_folder.h"
#include "tiny_models.h"

using namespace takt;

namespace {

Result<ModelConfig> read_config(const std::string& path) {
    Result<std::shared_ptr<const ByteSource>> source = open_file(path);
    REQUIRE(source.ok());
    Result<std::shared_ptr<const GgufFile>> file = GgufFile::open(*source);
    INFO(file.status().message());
    REQUIRE(file.ok());
    return ModelConfig::read(**file);
}

ModelConfig tiny_config(const std::string& name) {
    const Result<ModelConfig> config = read_config(test::tiny_path(name));
    INFO(config.status().message());
    REQUIRE(config.ok());
    return *config;
}

Result<ModelConfig> odd_config(const std::string& file) {
    return read_config(std::string(TAKT_TEST_DATA_DIR) + "/bad_gguf/" + file);
}

}  // namespace

TEST_CASE("A llama file's hyperparameters are read as they stand") {
    const ModelConfig config = tiny_config("llama");
    CHECK(config.family == "llama");
    CHECK(config.model_name == "tiny-llama");
    CHECK(config.vocab_size == 384);
    CHECK(config.context_tokens == 256);
    CHECK(config.n_layers == 2);
    CHECK(config.embedding_dim == 64);
    CHECK(config.ffn_dim == 96);
    CHECK(config.n_heads == 4);
    CHECK(config.n_kv_heads == 2);
    CHECK(config.key_dim == 32);
    CHECK(config.value_dim == 32);
    CHECK(config.norm_epsilon == 1e-5f);
    CHECK(config.rope_rotated_dim == 32);
    CHECK(config.rope_base == 10000.0f);
    CHECK(config.rope_scaling.kind == RopeScaling::Kind::none);
    CHECK(config.window_tokens == 0);
}

TEST_CASE("Linear scaling divides the frequencies by its factor") {
    const ModelConfig config = tiny_config("llama-linear-rope");
    CHECK(config.rope_scaling.kind == RopeScaling::Kind::linear);
    CHECK(config.rope_scaling.factor == 4.0f);
}

TEST_CASE("Gemma 3 looks through a window in five layers of six") {
    const ModelConfig config = tiny_config("gemma3");
    CHECK(config.window_tokens == 16);
    CHECK(config.window_pattern == 6);
    std::vector<bool> windowed;
    for (const LayerConfig& layer : config.layers) windowed.push_back(layer.windowed);
    CHECK(windowed == std::vector<bool>{true, true, true, true, true, false, true});
    CHECK(config.rope_base == 1000000.0f);
    CHECK(config.rope_base_window == 10000.0f);
}

TEST_CASE("The head size follows from the width where the file doesn't give it") {
    const Result<ModelConfig> config = odd_config("149_derived_head_size.gguf");
    REQUIRE(config.ok());
    CHECK(config->key_dim == 16);
    CHECK(config->value_dim == 16);
}

TEST_CASE("Sizes may come in any integer type, and once per layer where all are equal") {
    const Result<ModelConfig> config = odd_config("153_other_integer_types.gguf");
    INFO(config.status().message());
    REQUIRE(config.ok());
    CHECK(config->n_layers == 2);
    CHECK(config->n_heads == 4);
    CHECK(config->n_kv_heads == 2);
}

TEST_CASE("A family that takt doesn't run is refused by name, with the list of those it does") {
    std::ifstream file(test::tiny_path("llama"), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const size_t value = bytes.find("llama", bytes.find("general.architecture"));
    REQUIRE(value != std::string::npos);
    bytes.replace(value, 5, "mamba");
    const test::TemporaryFolder folder;
    const Result<ModelConfig> config = read_config(folder.write("mamba.gguf", bytes));
    REQUIRE_FALSE(config.ok());
    CHECK_THAT(config.status().message(), Catch::Matchers::Contains("'mamba'"));
    CHECK(config.status().code() == StatusCode::model_unsupported);
    for (const Family& family : families())
        CHECK_THAT(config.status().message(), Catch::Matchers::Contains(std::string(family.name)));
}

TEST_CASE("A hyperparameter out of its range is named with its value") {
    const auto message = [](const char* file) { return odd_config(file).status().message(); };
    CHECK(message("083_block_count_0.gguf") == "llama.block_count is 0, must be at least 1.");
    CHECK(message("087_block_count_max.gguf") ==
          "llama.block_count is 4294967295, exceeds the maximum of 4096.");
    CHECK(message("096_head_count_short_array.gguf") ==
          "llama.attention.head_count is an array of length 1, the model has 2 layers.");
    CHECK(message("098_head_count_kv_3.gguf") ==
          "llama.attention.head_count_kv is 3, must divide llama.attention.head_count, which is 4.");
    CHECK(message("104_rope_dim_15.gguf") ==
          "llama.rope.dimension_count is 15, must be even and at most the head size 8.");
    CHECK(message("107_rope_scaling_type_unknown.gguf") ==
          "llama.rope.scaling.type is 'banana', takt runs none, linear, yarn and longrope.");
    CHECK(message("109_rms_eps_nan.gguf") ==
          "llama.attention.layer_norm_rms_epsilon is nan, must be positive and finite.");
    CHECK(message("111_expert_count_8.gguf") == "llama.expert_used_count is missing.");
}
