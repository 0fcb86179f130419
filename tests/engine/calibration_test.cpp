// The importance of columns: against the embedding by hand, the CPU against the reference, and the way it
// gets into a file.
#include "engine/calibration.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "quantize/quantizer.h"
#include "temporary_folder.h"
#include "tensor/dequantize.h"
#include "tiny_models.h"

using namespace takt;
using namespace takt::test;

namespace {

Importance measured(const Model& model, const char* backend, std::span<const int32_t> ids, uint32_t window) {
    const auto runtime = Runtime::create({}).value();
    CalibrationOptions options;
    options.backend = backend;
    options.ids = ids;
    options.window_tokens = window;
    Result<Importance> importance = measure_importance(*runtime, model, options);
    INFO(importance.status().message());
    REQUIRE(importance.ok());
    return std::move(*importance);
}

std::vector<float> floats_of(const Model& model, const char* name) {
    const GgufTensor* tensor = model.file().find_tensor(name);
    REQUIRE(tensor != nullptr);
    std::vector<std::byte> bytes(tensor->size_bytes);
    REQUIRE(model.read(name, 0, bytes).ok());
    std::vector<float> values(tensor->dims[0] * tensor->dims[1]);
    dequantize_row(tensor->dtype, bytes, values);
    return values;
}

std::vector<int32_t> some_ids(size_t n) {
    std::vector<int32_t> ids(n);
    for (size_t i = 0; i < n; ++i) ids[i] = static_cast<int32_t>(i * 37 % 371 + 3);
    return ids;
}

}  // namespace

TEST_CASE("The first layer's inputs are the normed embeddings of all tokens") {
    const auto model = load_tiny("llama");
    const std::vector<int32_t> ids = some_ids(150);
    const std::vector<float> table = floats_of(*model, "token_embd.weight"),
                             norm = floats_of(*model, "blk.0.attn_norm.weight");
    const size_t width = norm.size();
    std::vector<double> expected(width);
    for (const int32_t id : ids) {
        const float* x = table.data() + static_cast<size_t>(id) * width;
        double squares = 0;
        for (size_t i = 0; i < width; ++i) squares += double{x[i]} * x[i];
        const double scale = squares / static_cast<double>(width) + model->config().norm_epsilon;
        for (size_t i = 0; i < width; ++i)
            expected[i] += double{x[i]} * x[i] / scale * norm[i] * norm[i] / static_cast<double>(ids.size());
    }
    for (const char* backend : {"reference", "cpu"}) {
        const Importance importance = measured(*model, backend, ids, 64);
        for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_v.weight"}) {
            INFO(backend << " " << name);
            const auto& sums = importance.sums().find(name)->second;
            CHECK(sums.counts == std::vector<double>{150});
            for (size_t i = 0; i < width; ++i)
                CHECK(sums.squares[i] / 150 == Approx(expected[i]).epsilon(1e-4));
        }
        CHECK(importance.sums().size() == 2 * 7 + 1);  // every matrix, and the head
        CHECK(importance.sums().find("output.weight")->second.counts[0] == 150);
    }
}

TEST_CASE("The CPU measures what the reference does, but for rounded activations") {
    for (const char* name : {"llama", "gemma3", "quant-q4_k_m", "quant-iq4_xs"}) {
        const auto model = load_tiny(name);
        const std::vector<int32_t> ids = some_ids(130);
        const Importance expected = measured(*model, "reference", ids, 96),
                         got = measured(*model, "cpu", ids, 96);
        REQUIRE(expected.sums().size() == got.sums().size());
        for (const auto& [tensor, sums] : expected.sums()) {
            INFO(name << " " << tensor);
            const auto& own = got.sums().find(tensor)->second;
            CHECK(own.counts == sums.counts);
            REQUIRE(own.squares.size() == sums.squares.size());
            double off = 0, all = 0;
            for (size_t i = 0; i < sums.squares.size(); ++i) {
                off += std::pow(own.squares[i] - sums.squares[i], 2);
                all += std::pow(sums.squares[i], 2);
            }
            CHECK(all > 0);
            CHECK(std::sqrt(off / all) < 0.02);
        }
    }
}

TEST_CASE("What was measured fits the model's file, and lowers the weighted error there") {
    const auto model = load_tiny("quant-f16");
    const Importance importance = measured(*model, "cpu", some_ids(200), 64);
    const TemporaryFolder folder;
    ThreadPool pool(2);
    const auto error = [&](const Importance* with) {
        QuantizeOptions options;
        options.input = tiny_path("quant-f16");
        options.output = folder.file("out.gguf");
        options.type = "q4_0";
        options.importance = with;
        const auto result = quantize_file(options, pool);
        INFO(result.status().message());
        REQUIRE(result.ok());
        const auto quantized = load_model(options.output).value();
        const std::vector<float> a = floats_of(*model, "blk.0.attn_q.weight"),
                                 b = floats_of(*quantized, "blk.0.attn_q.weight");
        const std::vector<double>& weight = importance.sums().find("blk.0.attn_q.weight")->second.squares;
        double sum = 0;
        for (size_t i = 0; i < a.size(); ++i)
            sum += weight[i % weight.size()] * std::pow(double{a[i]} - b[i], 2);
        return sum;
    };
    CHECK(error(&importance) < error(nullptr));
}

TEST_CASE("Calibration says what is wrong with its text, and stops when asked") {
    const auto runtime = Runtime::create({}).value();
    const auto model = load_tiny("llama");
    CalibrationOptions options;
    const auto message = [&] {
        const auto importance = measure_importance(*runtime, *model, options);
        REQUIRE_FALSE(importance.ok());
        return importance.status().message();
    };
    const std::vector<int32_t> one = {5}, wrong = {5, 384}, fine = some_ids(200);
    options.window_tokens = 64;
    options.ids = one;
    CHECK(message().find("1 tokens") != std::string::npos);
    options.ids = wrong;
    CHECK(message().find("Token 1 is 384") != std::string::npos);
    options.ids = fine;
    options.window_tokens = 1;
    CHECK(message().find("window_tokens is 1") != std::string::npos);
    options.window_tokens = 64;
    options.progress = [](uint64_t done, uint64_t total) {
        CHECK(total == 200);
        return done < 100;
    };
    CHECK(message().find("cancelled") != std::string::npos);
}
