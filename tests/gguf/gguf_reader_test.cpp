// A right file: values, look-ups, tensor table; odd forms that the format allows.
#include "gguf/gguf_reader.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "gguf_builder.h"

using namespace takt;
using takt::test::GgufBuilder;

namespace {

// Borrows; what is read is owned by the file.
Result<std::shared_ptr<const GgufFile>> open_bytes(const GgufBuilder::Bytes& bytes) {
    return GgufFile::open(borrow_memory(bytes));
}

GgufBuilder small_file() {
    GgufBuilder builder;
    builder.str("general.architecture", "llama");
    return builder;
}

std::shared_ptr<const GgufFile> must_open(const GgufBuilder& builder) {
    auto file = open_bytes(builder.build());
    INFO(file.status().message());
    REQUIRE(file.ok());
    return *file;
}

}  // namespace

TEST_CASE("Values of every type are found by key, widened") {
    GgufBuilder builder = small_file();
    builder.number<uint8_t>("u8", 250)
        .number<int8_t>("i8", -3)
        .number<uint16_t>("u16", 65000)
        .number<int16_t>("i16", -30000);
    builder.number<uint32_t>("u32", 4000000000u)
        .number<int32_t>("i32", -2000000000)
        .number<uint64_t>("u64", UINT64_MAX);
    builder.number<int64_t>("i64", INT64_MIN)
        .number<float>("f32", 0.5f)
        .number<double>("f64", 1e300)
        .flag("yes", true)
        .flag("no", false);
    const auto file = must_open(builder);
    CHECK(file->version() == 3);
    CHECK(file->entries().size() == 13);
    CHECK(file->entries()[1].key == "u8");
    CHECK(**file->get_uint("u8") == 250);
    CHECK(**file->get_uint("u16") == 65000);
    CHECK(**file->get_uint("u32") == 4000000000u);
    CHECK(**file->get_uint("u64") == UINT64_MAX);
    CHECK(std::get<int64_t>(file->find("i8")->value) == -3);
    CHECK(std::get<int64_t>(file->find("i16")->value) == -30000);
    CHECK(std::get<int64_t>(file->find("i32")->value) == -2000000000);
    CHECK(std::get<int64_t>(file->find("i64")->value) == INT64_MIN);
    CHECK(**file->get_float("f32") == 0.5);
    CHECK(**file->get_float("f64") == 1e300);
    CHECK(**file->get_bool("yes"));
    CHECK_FALSE(**file->get_bool("no"));
    CHECK(**file->get_string("general.architecture") == "llama");
}

TEST_CASE("An absent key is no error; a wrong type or a negative size is one that names key, type or value") {
    GgufBuilder builder = small_file();
    builder.number<int32_t>("below", -4)
        .number<int32_t>("above", 4)
        .number<float>("real", 1.0f)
        .strings("words", {"a"});
    const auto file = must_open(builder);
    CHECK(file->find("none") == nullptr);
    CHECK_FALSE((*file->get_uint("none")).has_value());
    CHECK_FALSE((*file->get_float("none")).has_value());
    CHECK_FALSE((*file->get_bool("none")).has_value());
    CHECK_FALSE((*file->get_string("none")).has_value());
    CHECK(*file->get_array("none", GgufType::string) == nullptr);
    CHECK(**file->get_uint("above") == 4);
    const auto message = [](const auto& result) {
        CHECK_FALSE(result.ok());
        CHECK(result.status().code() == StatusCode::file_invalid);
        return result.status().message();
    };
    CHECK(message(file->get_uint("below")) ==
          "Metadata key below is -4, out of range: must not be negative.");
    CHECK(message(file->get_uint("real")) == "Metadata key real has type f32, must be an integer.");
    CHECK(message(file->get_float("above")) == "Metadata key above has type i32, must be a float.");
    CHECK(message(file->get_bool("real")) == "Metadata key real has type f32, must be a bool.");
    CHECK(message(file->get_string("words")) == "Metadata key words has type array, must be a string.");
    CHECK(message(file->get_array("real", GgufType::f32)) ==
          "Metadata key real has type f32, must be an array of f32.");
    CHECK(message(file->get_array("words", GgufType::u32)) ==
          "Metadata key words is an array of type string, must be of u32.");
}

TEST_CASE("Arrays of numbers, strings, bools and arrays keep their order") {
    GgufBuilder builder = small_file();
    std::vector<int32_t> many(3000);
    for (size_t i = 0; i < many.size(); ++i) many[i] = -static_cast<int32_t>(i);
    builder.numbers<int32_t>("many", many)
        .numbers<uint8_t>("bytes", {1, 2, 255})
        .numbers<float>("reals", {0.25f, -1.0f});
    builder.strings("words", {"", "a", std::string("z\0\xff", 3)}).numbers<uint64_t>("none", {});
    GgufBuilder::Bytes& flags = builder.array("flags", 7, 2);
    GgufBuilder::put<uint8_t>(flags, 1);
    GgufBuilder::put<uint8_t>(flags, 0);
    GgufBuilder::Bytes& nested = builder.array("nested", 9, 2);
    for (const uint16_t value : {uint16_t{7}, uint16_t{8}}) {
        GgufBuilder::put<uint32_t>(nested, 2);
        GgufBuilder::put<uint64_t>(nested, 1);
        GgufBuilder::put<uint16_t>(nested, value);
    }
    const auto file = must_open(builder);
    const GgufArray* found = *file->get_array("many", GgufType::i32);
    REQUIRE(found != nullptr);
    REQUIRE(found->size() == 3000);
    CHECK(found->signeds[2999] == -2999);
    CHECK((*file->get_array("bytes", GgufType::u8))->unsigneds == std::vector<uint64_t>{1, 2, 255});
    CHECK((*file->get_array("reals", GgufType::f32))->floats == std::vector<double>{0.25, -1.0});
    CHECK((*file->get_array("words", GgufType::string))->strings ==
          std::vector<std::string>{"", "a", std::string("z\0\xff", 3)});
    CHECK((*file->get_array("none", GgufType::u64))->size() == 0);
    CHECK((*file->get_array("flags", GgufType::boolean))->booleans == std::vector<uint8_t>{1, 0});
    const GgufArray* outer = *file->get_array("nested", GgufType::array);
    REQUIRE(outer->arrays.size() == 2);
    CHECK(outer->arrays[1]->unsigneds == std::vector<uint64_t>{8});
}

TEST_CASE("Tensors are found by name, with shape, bytes and their place in the source") {
    GgufBuilder builder = small_file();
    builder.f32_tensor("a", {3}, {1, 2, 3}).zeros("b", {64, 2}, 2, 72).zeros("c", {1, 1, 2, 2}, 30, 8);
    const GgufBuilder::Bytes bytes = builder.build();
    const auto file = open_bytes(bytes);
    REQUIRE(file.ok());
    REQUIRE((*file)->tensors().size() == 3);
    CHECK((*file)->find_tensor("d") == nullptr);
    const GgufTensor* a = (*file)->find_tensor("a");
    const GgufTensor* b = (*file)->find_tensor("b");
    const GgufTensor* c = (*file)->find_tensor("c");
    REQUIRE((a != nullptr && b != nullptr && c != nullptr));
    CHECK(a->size_bytes == 12);
    CHECK(a->offset == builder.data_start());
    CHECK(a->dims[1] == 1);
    CHECK(b->dtype == DType::q4_0);
    CHECK(b->offset == builder.data_start() + 32);
    CHECK(b->size_bytes == 72);
    CHECK(c->n_dims == 4);
    CHECK(c->size_bytes == 8);
    float values[3] = {};
    REQUIRE((*file)->source().read_at(a->offset, std::as_writable_bytes(std::span(values))).ok());
    CHECK(values[2] == 3.0f);
}

TEST_CASE("Alignment 1, 64 or 1 MiB, v2, no tensors, and data past the last tensor are all fine") {
    for (const uint32_t alignment : {1u, 64u, 1u << 20}) {
        GgufBuilder builder = small_file();
        builder.say_alignment(alignment).zeros("a", {5}, 0, 20).zeros("b", {1}, 0, 4);
        const auto file = must_open(builder);
        CHECK(file->find_tensor("b")->offset % alignment == 0);
    }
    GgufBuilder old = small_file();
    old.version = 2;
    CHECK(must_open(old)->version() == 2);
    GgufBuilder longer = small_file();
    GgufBuilder::Bytes bytes = longer.zeros("a", {5}, 0, 20).build();
    bytes.resize(bytes.size() + 1000);
    CHECK(open_bytes(bytes).ok());
}

TEST_CASE("Tensor data may lie in any order, with gaps") {
    GgufBuilder builder = small_file();
    builder.tensor("last", {4}, 0, GgufBuilder::Bytes(144), 128).tensor("first", {4}, 0, {}, 0);
    const auto file = must_open(builder);
    CHECK(file->find_tensor("last")->offset == file->find_tensor("first")->offset + 128);
}

TEST_CASE("The fingerprint follows metadata and table, not the tensor data") {
    GgufBuilder one = small_file(), same = small_file(), other = small_file();
    one.f32_tensor("a", {1}, {1.0f});
    same.f32_tensor("a", {1}, {2.0f});
    other.f32_tensor("b", {1}, {1.0f});
    CHECK(must_open(one)->fingerprint() == must_open(same)->fingerprint());
    CHECK(must_open(one)->fingerprint() != must_open(other)->fingerprint());
}

TEST_CASE("A head larger than the reader's window is read whole") {
    GgufBuilder builder = small_file();
    std::vector<std::string> words;
    for (int i = 0; i < 200000; ++i) words.push_back("word" + std::to_string(i));
    builder.strings("words", words).str("long", std::string(3000000, 'x')).zeros("a", {8}, 0, 32);
    const auto file = must_open(builder);
    CHECK((*file->get_array("words", GgufType::string))->strings == words);
    CHECK((**file->get_string("long")).size() == 3000000);
}
