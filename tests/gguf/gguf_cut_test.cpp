// A right file cut at every byte of its head, and one whose bytes are replaced one by one: an error, never
// more.
#include "gguf/gguf_reader.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include <unistd.h>

#include "gguf_builder.h"
#include "temporary_folder.h"

using namespace takt;
using takt::test::GgufBuilder;

namespace {

GgufBuilder usual_file() {
    GgufBuilder builder;
    builder.str("general.architecture", "llama").say_alignment(32).number<uint32_t>("llama.block_count", 2);
    builder.strings("tokenizer.ggml.tokens", {"a", "bc", ""})
        .numbers<float>("tokenizer.ggml.scores", {0.0f, -1.0f});
    GgufBuilder::Bytes& nested = builder.array("x.nested", 9, 1);
    GgufBuilder::put<uint32_t>(nested, 7);
    GgufBuilder::put<uint64_t>(nested, 1);
    GgufBuilder::put<uint8_t>(nested, 1);
    builder.zeros("token_embd.weight", {64, 3}, 8, 204).zeros("output_norm.weight", {64}, 0, 256);
    return builder;
}

}  // namespace

TEST_CASE("A file cut at any byte is refused") {
    const GgufBuilder builder = usual_file();
    const GgufBuilder::Bytes bytes = builder.build();
    REQUIRE(GgufFile::open(borrow_memory(bytes)).ok());
    for (size_t size = 0; size < bytes.size(); ++size) {
        INFO("cut at " << size << " of " << bytes.size());
        // A copy of just that size, so that a sanitizer sees any byte read behind it.
        const GgufBuilder::Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        const auto file = GgufFile::open(borrow_memory(cut));
        REQUIRE_FALSE(file.ok());
        REQUIRE_FALSE(file.status().message().empty());
        // Once the counts are known to fit, a cut is told as such.
        if (size >= 200) REQUIRE(file.status().code() == StatusCode::file_truncated);
    }
}

TEST_CASE(
    "A file with any one byte of its head replaced loads or is refused, and what loads is within the file") {
    const GgufBuilder::Bytes bytes = usual_file().build();
    const size_t head = usual_file().data_start();
    for (size_t at = 0; at < head; ++at) {
        for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
            GgufBuilder::Bytes changed = bytes;
            changed[at] = static_cast<std::byte>(value);
            const auto file = GgufFile::open(borrow_memory(changed));
            if (!file.ok()) continue;
            for (const GgufTensor& tensor : (*file)->tensors()) {
                INFO("byte " << at << " = " << value << ", " << tensor.name);
                REQUIRE(tensor.offset <= changed.size());
                REQUIRE(tensor.size_bytes <= changed.size() - tensor.offset);
            }
        }
    }
}

TEST_CASE(
    "A file that shrinks after it was opened still has its metadata, and its tensors give file_truncated") {
    const test::TemporaryFolder folder;
    const GgufBuilder builder = usual_file();
    const std::string path = folder.write("model.gguf", builder.build());
    const auto source = open_file(path);
    REQUIRE(source.ok());
    const auto file = GgufFile::open(*source);
    REQUIRE(file.ok());
    REQUIRE(truncate(path.c_str(), 100) == 0);
    CHECK(**(*file)->get_uint("llama.block_count") == 2);
    const GgufTensor* tensor = (*file)->find_tensor("output_norm.weight");
    REQUIRE(tensor != nullptr);
    GgufBuilder::Bytes out(tensor->size_bytes);
    CHECK((*file)->source().read_at(tensor->offset, out).code() == StatusCode::file_truncated);
    // Parsing it anew from the same source meets the shorter file in the middle of its head.
    CHECK(GgufFile::open(*source).status().code() == StatusCode::file_truncated);
}

TEST_CASE("A file in the middle of another is read through its descriptor") {
    const test::TemporaryFolder folder;
    GgufBuilder::Bytes bytes(1000, std::byte{0xee});
    const GgufBuilder::Bytes inner = usual_file().build();
    bytes.insert(bytes.end(), inner.begin(), inner.end());
    bytes.resize(bytes.size() + 50, std::byte{0xee});
    FILE* stream = fopen(folder.write("archive", bytes).c_str(), "rb");
    REQUIRE(stream != nullptr);
    const auto source = open_descriptor(fileno(stream), 1000, inner.size());
    fclose(stream);
    REQUIRE(source.ok());
    const auto file = GgufFile::open(*source);
    REQUIRE(file.ok());
    CHECK((*file)->find_tensor("token_embd.weight")->offset == usual_file().data_start());
}
