// Importance matrices: sums, means, and the file's form.
#include "quantize/importance.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "gguf_builder.h"
#include "temporary_folder.h"

using namespace takt;
using namespace takt::test;

namespace {

GgufTensor matrix(const char* name, uint64_t columns, uint64_t n_matrices = 1) {
    GgufTensor tensor;
    tensor.name = name;
    tensor.n_dims = 3;
    tensor.dims[0] = columns;
    tensor.dims[1] = 5;
    tensor.dims[2] = n_matrices;
    return tensor;
}

GgufBuilder head() {
    GgufBuilder b;
    for (const char* key : {"general.architecture", "general.type"}) b.str(key, "imatrix");
    return b;
}

}  // namespace

TEST_CASE("Importance is the mean square of each column, and comes back from its file") {
    Importance importance;
    importance.add_row("a.weight", std::vector<float>{1, 2, -3});
    importance.add_row("a.weight", std::vector<float>{3, 0, 1});
    CHECK(importance.means(matrix("a.weight", 3)).value() == std::vector<float>{5, 2, 5});
    CHECK(importance.means(matrix("b.weight", 3)).value().empty());
    CHECK_FALSE(importance.means(matrix("a.weight", 4)).ok());
    const TemporaryFolder folder;
    REQUIRE(importance.write(folder.file("i.gguf"), 512, 3).ok());
    const auto again = Importance::read(folder.file("i.gguf"));
    REQUIRE(again.ok());
    CHECK(again->means(matrix("a.weight", 3)).value() == std::vector<float>{5, 2, 5});
    const auto file = GgufFile::open(open_file(folder.file("i.gguf")).value()).value();
    CHECK(file->find_tensor("a.weight.in_sum2") != nullptr);
    CHECK(file->get_string("general.type")->value() == "imatrix");
    CHECK(file->find("general.architecture") == nullptr);  // as in the usual engine's
    CHECK(file->get_uint("imatrix.chunk_count")->value() == 3);
    CHECK(file->get_uint("imatrix.chunk_size")->value() == 512);
    CHECK((*file->get_array("imatrix.datasets", GgufType::string))->strings.size() == 1);
}

TEST_CASE("Experts have counts of their own, and one that was never reached counts all columns alike") {
    GgufBuilder b = head();
    b.f32_tensor("e.weight.in_sum2", {2, 2}, {4, 8, 0, 0}).f32_tensor("e.weight.counts", {1, 2}, {4, 0});
    const TemporaryFolder folder;
    const auto read = Importance::read(folder.write("i.gguf", b.build()));
    REQUIRE(read.ok());
    CHECK(read->means(matrix("e.weight", 2, 2)).value() == std::vector<float>{1, 2, 1, 1});
}

TEST_CASE("A file that is no importance matrix is refused") {
    const TemporaryFolder folder;
    const auto message = [&](const GgufBuilder& b) {
        const auto read = Importance::read(folder.write("i.gguf", b.build()));
        REQUIRE_FALSE(read.ok());
        return read.status().message();
    };
    GgufBuilder none = head(), lonely = head(), negative = head(), odd = head();
    CHECK(message(none).find("no importance matrix") != std::string::npos);
    lonely.f32_tensor("a.in_sum2", {2}, {1, 1});
    CHECK(message(lonely).find("a.counts") != std::string::npos);
    negative.f32_tensor("a.in_sum2", {2}, {1, -1}).f32_tensor("a.counts", {1}, {1});
    CHECK(message(negative).find("-1") != std::string::npos);
    odd.f32_tensor("a.in_sum2", {3}, {1, 1, 1}).f32_tensor("a.counts", {2}, {1, 1});
    CHECK(message(odd).find("3 elements for 2 counts") != std::string::npos);
}
