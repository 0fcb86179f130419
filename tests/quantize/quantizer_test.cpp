// Whole files: what is in the output, and that nothing is left where there is none.
#include "quantize/quantizer.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "quantize_files.h"
#include "tensor/dequantize.h"

using namespace takt;
using namespace takt::test;

namespace {

std::shared_ptr<const GgufFile> open(const std::string& path) {
    return GgufFile::open(open_file(path).value()).value();
}

std::vector<float> floats_of(const GgufFile& file, const std::string& name) {
    const GgufTensor* tensor = file.find_tensor(name);
    REQUIRE(tensor != nullptr);
    std::vector<std::byte> bytes(tensor->size_bytes);
    REQUIRE(file.read(*tensor, 0, bytes).ok());
    std::vector<float> values(tensor->dims[0] * tensor->dims[1] * tensor->dims[2]);
    dequantize_row(tensor->dtype, bytes, values);
    return values;
}

double relative_rmse(const std::vector<float>& a, const std::vector<float>& b) {
    double off = 0, all = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        off += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
        all += double{a[i]} * a[i];
    }
    return std::sqrt(off / all);
}

struct Fixture {
    TemporaryFolder folder;
    ThreadPool pool{3};
    QuantizeOptions options;

    Fixture() {
        options.input = folder.write("in.gguf", FloatModel{}.builder().build());
        options.output = folder.file("out.gguf");
        options.type = "q4_k_m";
    }
    size_t n_files() const {
        const std::filesystem::directory_iterator files(std::filesystem::path(options.input).parent_path());
        return static_cast<size_t>(std::distance(begin(files), end(files)));
    }
    // Fails so, and leaves nothing.
    void fails(StatusCode code, std::initializer_list<const char*> words) {
        const size_t before = n_files();
        const auto result = quantize_file(options, pool);
        REQUIRE_FALSE(result.ok());
        INFO(result.status().message());
        CHECK(result.status().code() == code);
        for (const char* word : words) CHECK(result.status().message().find(word) != std::string::npos);
        CHECK(n_files() == before);
    }
};

}  // namespace

TEST_CASE("Each type gives a file of the same metadata whose tensors are as near as the type allows") {
    Fixture f;
    const auto input = open(f.options.input);
    for (const auto& [type, least, most] : {std::tuple{"f32", -1.0, 0.0},
                                            {"f16", 0.0, 3e-4},
                                            {"bf16", 1e-3, 2e-3},
                                            {"q4_0", 0.07, 0.086},
                                            {"q4_1", 0.06, 0.078},
                                            {"q5_0", 0.035, 0.043},
                                            {"q5_1", 0.03, 0.038},
                                            {"q8_0", 0.004, 0.0056},
                                            {"q6_k", 0.015, 0.018},
                                            {"q4_k_s", 0.06, 0.072},
                                            {"q5_k_m", 0.03, 0.0365}}) {
        INFO(type);
        f.options.type = type;
        const auto result = quantize_file(f.options, f.pool);
        INFO(result.status().message());
        REQUIRE(result.ok());
        const auto output = open(f.options.output);
        CHECK(result->output_bytes == std::filesystem::file_size(f.options.output));
        CHECK(result->n_tensors == input->tensors().size());
        for (const GgufTensor& tensor : input->tensors()) {
            const std::vector<float> before = floats_of(*input, tensor.name),
                                     after = floats_of(*output, tensor.name);
            if (tensor.n_dims == 1) CHECK(before == after);
            if (tensor.name != "blk.2.attn_q.weight") continue;
            const double off = relative_rmse(before, after);
            CHECK(off <= most);
            CHECK(off > least);
        }
        CHECK(*output->get_string("general.name").value() == "m\xc3\xbc");
        CHECK(output->get_float("llama.rope.freq_base")->value() == 1e4);
        CHECK((*output->get_array("some.numbers", GgufType::i32))->signeds == std::vector<int64_t>{-1, 2});
        CHECK((*output->get_array("some.texts", GgufType::string))->strings ==
              std::vector<std::string>{"a", ""});
        CHECK(output->get_bool("some.flag")->value());
    }
    CHECK(open(f.options.output)->get_uint("general.file_type")->value() == 17);
    CHECK(open(f.options.output)->get_uint("general.quantization_version")->value() == 2);
}

TEST_CASE("The bytes of the output don't depend on the threads") {
    Fixture f;
    ThreadPool one(1);
    REQUIRE(quantize_file(f.options, one).ok());
    const auto first = open(f.options.output);
    f.options.output = f.folder.file("again.gguf");
    REQUIRE(quantize_file(f.options, f.pool).ok());
    const auto second = open(f.options.output);
    std::vector<std::byte> a(first->size_bytes()), b(second->size_bytes());
    REQUIRE(first->source().read_at(0, a).ok());
    REQUIRE(second->source().read_at(0, b).ok());
    CHECK(a == b);
}

TEST_CASE("A quantized model is taken again only where that was asked for") {
    Fixture f;
    f.options.type = "q8_0";
    REQUIRE(quantize_file(f.options, f.pool).ok());
    f.options.input = f.options.output;
    f.options.output = f.folder.file("second.gguf");
    f.options.type = "q4_0";
    f.fails(StatusCode::invalid_argument, {"token_embd.weight", "q8_0", "requantize"});
    f.options.requantize = true;
    REQUIRE(quantize_file(f.options, f.pool).ok());
    CHECK(open(f.options.output)->find_tensor("blk.0.attn_q.weight")->dtype == DType::q4_0);
    f.options.type = "q8_0";  // nothing to do is no loss
    f.options.requantize = false;
    const auto same = quantize_file(f.options, f.pool);
    REQUIRE(same.ok());
    CHECK(same->n_quantized == 0);
}

TEST_CASE("A quantization that can't be names what is wrong and leaves nothing") {
    Fixture f;
    SECTION("unknown type") {
        f.options.type = "q9_z";
        f.fails(StatusCode::invalid_argument, {"q9_z"});
    }
    SECTION("onto itself, by another name") {
        f.options.output = f.folder.file("link.gguf");
        std::filesystem::create_symlink(f.options.input, f.options.output);
        f.fails(StatusCode::invalid_argument, {"same file", "link.gguf"});
    }
    SECTION("no input") {
        f.options.input = f.folder.file("none.gguf");
        const auto result = quantize_file(f.options, f.pool);
        CHECK(result.status().code() == StatusCode::file_not_found);
    }
    SECTION("no such folder") {
        f.options.output = f.folder.file("none/out.gguf");
        f.fails(StatusCode::file_not_found, {"none"});
    }
    SECTION("the output is a folder") {
        f.options.output = f.folder.file("folder");
        std::filesystem::create_directory(f.options.output);
        f.fails(StatusCode::file_io, {"directory"});
    }
    SECTION("a value that no scale reaches") {
        std::vector<float> values(256 * 2, 1.0f);
        values[300] = 1e6f;
        GgufBuilder b;
        b.str("general.architecture", "llama").f32_tensor("a.weight", {256, 2}, values);
        f.options.input = f.folder.write("odd.gguf", b.build());
        f.fails(StatusCode::file_invalid, {"a.weight", "1000000", "row 1, column 44", "q4_k"});
    }
    SECTION("a value that is none") {
        std::vector<float> values(256, NAN);
        GgufBuilder b;
        b.str("general.architecture", "llama").f32_tensor("a.weight", {256, 1}, values);
        f.options.input = f.folder.write("odd.gguf", b.build());
        f.fails(StatusCode::file_invalid, {"a.weight", "nan", "row 0, column 0"});
    }
    SECTION("cancelled half-way, with an older output that stays") {
        f.folder.write("out.gguf", std::string("older"));
        uint64_t last = 0;
        f.options.progress = [&](uint64_t done, uint64_t total) {
            CHECK(done <= total);
            last = done;
            return done * 2 < total;
        };
        f.fails(StatusCode::cancelled, {"cancelled"});
        CHECK(last > 0);
        CHECK(std::filesystem::file_size(f.options.output) == 5);
    }
    SECTION("importance of another model") {
        Importance importance;
        importance.add_row("blk.0.attn_q.weight", std::vector<float>(64, 1.0f));
        f.options.importance = &importance;
        f.fails(StatusCode::invalid_argument, {"blk.0.attn_q.weight", "64 columns", "256"});
    }
}

TEST_CASE("What progress throws comes out, and nothing is left") {
    Fixture f;
    f.options.progress = [](uint64_t, uint64_t) -> bool { throw std::runtime_error("stop"); };
    CHECK_THROWS_WITH(quantize_file(f.options, f.pool), "stop");
    CHECK(f.n_files() == 1);
}

TEST_CASE("Columns with importance come nearer in the file") {
    Fixture f;
    Importance importance;
    std::vector<float> row(256, 0.1f);
    for (size_t i = 0; i < 32; ++i) row[i * 8] = 10.0f;
    importance.add_row("blk.2.attn_q.weight", row);
    const auto error = [&] {
        REQUIRE(quantize_file(f.options, f.pool).ok());
        const auto before = floats_of(*open(f.options.input), "blk.2.attn_q.weight"),
                   after = floats_of(*open(f.options.output), "blk.2.attn_q.weight");
        double sum = 0;
        for (size_t i = 0; i < before.size(); i += 8) sum += (before[i] - after[i]) * (before[i] - after[i]);
        return sum;
    };
    const double plain = error();
    f.options.importance = &importance;
    CHECK(error() < 0.5 * plain);
}
