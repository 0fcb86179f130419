// Models split over files: found, read and told apart as one, and every way their parts can fail to fit.
#include "gguf/gguf_parts.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "gguf_builder.h"
#include "temporary_folder.h"

using namespace takt;
using namespace takt::test;

namespace {

std::string part_name(uint32_t part, uint32_t n_parts) {
    char name[64];
    std::snprintf(name, sizeof(name), "m-%05u-of-%05u.gguf", part + 1, n_parts);
    return name;
}

// Part p holds tensors t<2p> and t<2p+1> of 64 floats, all of them their number.
GgufBuilder part(uint32_t number, uint16_t n_parts, int32_t n_tensors) {
    GgufBuilder b;
    if (number == 0) b.str("general.architecture", "llama");
    b.number<uint16_t>("split.no", static_cast<uint16_t>(number)).number<uint16_t>("split.count", n_parts);
    b.number<int32_t>("split.tensors.count", n_tensors);
    for (uint32_t i = 2 * number; i < 2 * number + 2; ++i)
        b.f32_tensor(fmt::format("t{}", i), {64}, std::vector<float>(64, static_cast<float>(i)));
    return b;
}

struct Model3 {
    TemporaryFolder folder;
    Model3() {
        for (uint32_t p = 0; p < 3; ++p) write(p, part(p, 3, 6));
    }
    void write(uint32_t p, const GgufBuilder& b) const { folder.write(part_name(p, 3), b.build()); }
    Result<std::shared_ptr<const GgufFile>> open(uint32_t p = 0) const {
        const auto source = open_file(folder.file(part_name(p, 3)));
        REQUIRE(source.ok());
        return GgufFile::open(*source);
    }
    void fails(StatusCode code, std::initializer_list<const char*> words, uint32_t p = 0) const {
        const auto file = open(p);
        REQUIRE_FALSE(file.ok());
        INFO(file.status().message());
        CHECK(file.status().code() == code);
        for (const char* word : words) CHECK(file.status().message().find(word) != std::string::npos);
    }
};

}  // namespace

TEST_CASE("The first part of a split model opens all of them, and tensors are read from where they lie") {
    const Model3 model;
    const auto file = model.open();
    INFO(file.status().message());
    REQUIRE(file.ok());
    CHECK((*file)->n_parts() == 3);
    CHECK((*file)->tensors().size() == 6);
    uint64_t bytes = 0;
    for (uint32_t p = 0; p < 3; ++p) bytes += part(p, 3, 6).build().size();
    CHECK((*file)->size_bytes() == bytes);
    for (uint32_t i = 0; i < 6; ++i) {
        const GgufTensor* tensor = (*file)->find_tensor(fmt::format("t{}", i));
        REQUIRE(tensor != nullptr);
        CHECK(tensor->part == i / 2);
        float values[2] = {};
        REQUIRE((*file)->read(*tensor, 62 * sizeof(float), std::as_writable_bytes(std::span(values))).ok());
        CHECK(values[1] == static_cast<float>(i));
    }
}

TEST_CASE("Fingerprint and time of a split model take in every part") {
    const Model3 model;
    const auto before = model.open().value();
    CHECK(model.open().value()->fingerprint() == before->fingerprint());
    CHECK(model.open().value()->modified_ns() == before->modified_ns());
    const std::string last = model.folder.file(part_name(2, 3));
    std::filesystem::last_write_time(last, std::filesystem::last_write_time(last) - std::chrono::hours(1));
    CHECK(model.open().value()->modified_ns() != before->modified_ns());
    GgufBuilder other = part(2, 3, 6);
    other.str("note", "another");
    model.write(2, other);
    CHECK(model.open().value()->fingerprint() != before->fingerprint());
}

TEST_CASE("A part that is missing, wrong or not the first is told by name") {
    const Model3 model;
    SECTION("opened on a later part") {
        model.fails(StatusCode::file_unsupported, {"m-00002", "part 2", "first"}, 1);
    }
    SECTION("missing") {
        std::filesystem::remove(model.folder.file(part_name(2, 3)));
        model.fails(StatusCode::file_not_found, {"m-00003-of-00003.gguf", "part 3 of 3"});
    }
    SECTION("a copy of another") {
        model.write(2, part(1, 3, 6));
        model.fails(StatusCode::file_invalid, {"m-00003-of-00003.gguf", "part 2", "not part 3"});
    }
    SECTION("of a model of other parts") {
        model.write(1, part(1, 4, 6));
        model.fails(StatusCode::file_invalid, {"m-00002-of-00003.gguf", "split.count is 4", "3"});
    }
    SECTION("no GGUF file") {
        model.folder.write(part_name(1, 3), std::string("nonsense"));
        model.fails(StatusCode::file_invalid, {"m-00002-of-00003.gguf", "magic"});
    }
    SECTION("cut off") {
        const auto bytes = part(1, 3, 6).build();
        model.folder.write(part_name(1, 3), std::span(bytes).first(bytes.size() - 300));
        model.fails(StatusCode::file_truncated, {"m-00002-of-00003.gguf", "t2", "end of file"});
    }
    SECTION("more tensors than there are") {
        model.write(0, part(0, 3, 7));
        model.fails(StatusCode::file_invalid, {"split.tensors.count is 7", "6 tensors"});
    }
    SECTION("a tensor in two parts") {
        GgufBuilder twice = part(2, 3, 7);
        twice.f32_tensor("t0", {64}, std::vector<float>(64));
        model.write(2, twice);
        model.write(0, part(0, 3, 7));
        model.fails(StatusCode::file_invalid, {"t0", "duplicate", "part 1", "part 3"});
    }
    SECTION("renamed") {
        std::filesystem::rename(model.folder.file(part_name(0, 3)), model.folder.file("first.gguf"));
        const auto file = GgufFile::open(*open_file(model.folder.file("first.gguf")));
        REQUIRE_FALSE(file.ok());
        CHECK(file.status().message().find("-00001-of-00003.gguf") != std::string::npos);
    }
    SECTION("so many parts that none can be meant") {
        model.write(0, part(0, 60000, 6));
        model.fails(StatusCode::file_invalid, {"split.count is 60000", "1024"});
    }
}

TEST_CASE("A split model from memory or a descriptor says that it needs its path") {
    const auto bytes = part(0, 3, 6).build();
    const auto file = GgufFile::open(borrow_memory(bytes));
    REQUIRE_FALSE(file.ok());
    CHECK(file.status().code() == StatusCode::file_unsupported);
    CHECK(file.status().message().find("path") != std::string::npos);
}
