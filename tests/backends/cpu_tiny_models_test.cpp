// The CPU backend on the tiny models: close to the independent logits, and the same bits however the rows are
// fed.
#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <string>

#include "create/create.h"
#include "step_driver.h"
#include "temporary_folder.h"
#include "tiny_models.h"

using namespace takt;
using namespace takt::test;

namespace {

// A tiny model compiled for the CPU backend.
struct Compiled {
    std::shared_ptr<const Model> model;
    ThreadPool pool;
    std::unique_ptr<Backend> backend;
    WeightStore store;
    CompileOptions options;
    std::unique_ptr<Executable> executable;
    std::unique_ptr<StepDriver> driver;

    Compiled(const std::string& name, uint32_t n_sequences, uint32_t page_tokens, uint32_t n_threads,
             const std::string& isa = "", uint32_t context_tokens = 512)
        : model(load_tiny(name)),
          pool(n_threads),
          backend(create_cpu_backend({&pool, nullptr, isa}).value()),
          options(compile_options(*model->program(), 96, context_tokens, n_sequences, page_tokens)) {
        options.deterministic = true;
        auto weights = backend->load_weights(*model->program(), *model, store, {});
        INFO(weights.status().message());
        REQUIRE(weights.ok());
        auto compiled = backend->compile(model->program(), *weights, options);
        INFO(compiled.status().message());
        REQUIRE(compiled.ok());
        executable = std::move(*compiled);
        driver = std::make_unique<StepDriver>(*model->program(), *executable, options);
    }

    std::vector<float> logits(std::span<const int32_t> ids, size_t chunk_tokens) {
        Result<std::vector<float>> result = driver->logits(1, ids, chunk_tokens);
        INFO(result.status().message());
        REQUIRE(result.ok());
        driver->release(1);
        return std::move(*result);
    }
};

std::span<const float> row_of(std::span<const float> logits, size_t row, size_t width) {
    return logits.subspan(row * width, width);
}

double kl_divergence(std::span<const float> expected, std::span<const float> got) {
    const auto log_sum = [](std::span<const float> row) {
        double sum = 0;
        for (const float x : row) sum += std::exp(static_cast<double>(x));
        return std::log(sum);
    };
    const double expected_sum = log_sum(expected), got_sum = log_sum(got);
    double kl = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double log_p = expected[i] - expected_sum;
        kl += std::exp(log_p) * (log_p - (got[i] - got_sum));
    }
    return kl;
}

double golden_check(const std::string& name, const char* key) {
    std::ifstream text(tiny_path(name, ".json"));
    return nlohmann::json::parse(text).at("check").at(key);
}

}  // namespace

double worst_difference(Compiled& compiled, const GoldenSequence& sequence) {
    const size_t vocab = compiled.model->program()->vocab_size;
    const std::vector<float> logits = compiled.logits(sequence.ids, 96);
    double worst = 0;
    for (size_t i = 0; i < sequence.positions.size(); ++i) {
        for (size_t id = 0; id < vocab; ++id) {
            const double got = logits[sequence.positions[i] * vocab + id];
            const double difference = std::abs(got - sequence.logits[i * vocab + id]);
            worst = difference <= worst ? worst : difference;  // a NaN becomes the worst
        }
    }
    return worst;
}

TEST_CASE(
    "cpu logits of float32 models differ from the independent ones by what float16 keys and values cost") {
    const std::string name = GENERATE(from_range(std::begin(kTinyFamilies), std::end(kTinyFamilies)));
    Compiled compiled(name, 1, 32, 2);
    double worst = 0;
    for (const GoldenSequence& sequence : golden_sequences(name))
        worst = std::max(worst, worst_difference(compiled, sequence));
    INFO(name);
    CHECK(worst < 0.02);  // logits spread by 2.8; measured 0.003 to 0.013
    CHECK(worst > 0);
}

// Activations of 8 bits move a row's logits by a tenth or two, and where two experts are nearly equal they
// choose the other one: of these 36 rows one does.
TEST_CASE("cpu logits of a model with MXFP4 experts are near, but for rows that choose another expert") {
    Compiled compiled(kTinyMxfp4, 1, 32, 2);
    const size_t vocab = compiled.model->program()->vocab_size;
    std::vector<double> divergences;
    for (const GoldenSequence& sequence : golden_sequences(kTinyMxfp4)) {
        const std::vector<float> logits = compiled.logits(sequence.ids, 96);
        for (size_t i = 0; i < sequence.positions.size(); ++i) {
            divergences.push_back(kl_divergence(row_of(sequence.logits, i, vocab),
                                                row_of(logits, sequence.positions[i], vocab)));
        }
    }
    std::ranges::sort(divergences);
    CHECK(divergences.size() == 36);
    CHECK(divergences[18] < 0.002);  // measured 0.0011
    CHECK(divergences[33] < 0.01);   // 0.0034
}

TEST_CASE("The cpu backend takes LongRoPE's factors by the context that it compiles for") {
    for (const GoldenSequence& sequence : golden_sequences(kTinyLongRope)) {
        Compiled compiled(kTinyLongRope, 1, 32, 2, "", sequence.context_tokens);
        CHECK(worst_difference(compiled, sequence) < 0.02);
    }
}

TEST_CASE("cpu logits of quantized models are at least as close to the oracle as the usual engine's") {
    const std::string name = GENERATE(from_range(std::begin(kTinyQuants), std::end(kTinyQuants)));
    Compiled compiled(name, 1, 32, 2);
    const size_t vocab = compiled.model->program()->vocab_size;
    double sum = 0;
    size_t n = 0;
    for (const GoldenSequence& sequence : golden_sequences(name)) {
        const std::vector<float> logits = compiled.logits(sequence.ids, 96);
        for (size_t i = 0; i < sequence.positions.size(); ++i, ++n) {
            sum += kl_divergence(row_of(sequence.logits, i, vocab),
                                 row_of(logits, sequence.positions[i], vocab));
        }
    }
    INFO(name);
    // Twelve rows: the noise between two equally good roundings is some percent (measured 0.42 to 1.11 of
    // it).
    CHECK(sum / static_cast<double>(n) <= 1.15 * golden_check(name, "llama_cpp_mean_kl"));
}

TEST_CASE("cpu logits are the same bits for any chunks, page sizes, threads and instruction sets") {
    const std::string name =
        GENERATE(as<std::string>{}, "llama", "gemma3", "qwen2", "quant-q4_1", "quant-q6_k");
    const std::vector<int32_t> ids = golden_sequences(name).back().ids;
    const std::vector<float> whole = Compiled(name, 1, 32, 1).logits(ids, 96);
    INFO(name);
    for (const uint32_t page_tokens : {16u, 5u, 96u}) {
        for (const uint32_t n_threads : {1u, 2u, 3u}) {
            Compiled compiled(name, 1, page_tokens, n_threads);
            for (const size_t chunk : {1u, 7u, 96u}) CHECK(compiled.logits(ids, chunk) == whole);
        }
    }
    const std::vector<std::string> levels = Compiled(name, 1, 32, 1).backend->device_info().isa_levels;
    for (const std::string& isa : levels) {
        INFO(isa);
        CHECK(Compiled(name, 1, 32, 2, isa).logits(ids, 7) == whole);
    }
}

TEST_CASE("ten sequences in one batch get the bits that each has alone") {
    const std::string name = GENERATE(as<std::string>{}, "llama", "gemma3", "quant-q4_k_m", "quant-f16");
    Compiled compiled(name, 10, 16, 2);
    const size_t vocab = compiled.model->program()->vocab_size;
    const std::vector<int32_t> ids = golden_sequences(name).back().ids;
    std::vector<std::vector<int32_t>> prompts;
    std::vector<std::vector<float>> alone;
    for (size_t s = 0; s < 10; ++s) {
        prompts.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(s),
                             ids.end() - static_cast<std::ptrdiff_t>(s % 3));
        alone.push_back(compiled.logits(prompts[s], 96));
    }
    // Prompts of uneven lengths come in uneven chunks, so that rows of prefill and decode meet in every step.
    std::vector<size_t> fed(10, 0);
    for (uint32_t step = 0;; ++step) {
        std::vector<StepDriver::Chunk> chunks;
        std::vector<std::pair<size_t, size_t>> places;
        for (size_t s = 0; s < 10; ++s) {
            const size_t n = std::min(prompts[s].size() - fed[s], size_t{1} + (s + step) % 4 * (s % 2));
            if (n == 0) continue;
            chunks.push_back({100 + s, std::span(prompts[s]).subspan(fed[s], n), OutputWanted::logits});
            for (size_t i = 0; i < n; ++i) places.emplace_back(s, fed[s] + i);
            fed[s] += n;
        }
        if (chunks.empty()) break;
        const Result<StepOutput> output = compiled.driver->step(chunks);
        INFO(output.status().message());
        REQUIRE(output.ok());
        for (size_t row = 0; row < places.size(); ++row) {
            const auto [s, position] = places[row];
            const auto got = row_of(output->logits, row, vocab), expected = row_of(alone[s], position, vocab);
            CHECK(std::ranges::equal(got, expected));
        }
    }
}

TEST_CASE("the cpu backend allocates what it planned") {
    Compiled compiled("gemma3", 3, 32, 2);
    const Result<MemoryPlan> plan = compiled.backend->plan(*compiled.model->program(), compiled.options);
    REQUIRE(plan.ok());
    const MemoryPlan memory = compiled.executable->memory();
    CHECK(plan->weight_bytes == memory.weight_bytes);
    CHECK(plan->state_bytes == memory.state_bytes);
    CHECK(plan->scratch_bytes == memory.scratch_bytes);
    CHECK(memory.state_bytes > 0);
}

TEST_CASE("the cpu backend refuses an unknown instruction set and names those it knows") {
    const auto backend = create_cpu_backend({nullptr, nullptr, "avx1024"});
    REQUIRE_FALSE(backend.ok());
    CHECK(backend.status().message().find("avx1024") != std::string::npos);
    CHECK(backend.status().message().find("avx512_vnni") != std::string::npos);
}

TEST_CASE("loading weights on the cpu backend tells its progress and can be stopped") {
    const auto model = load_tiny("quant-q4_1");
    const auto backend = create_cpu_backend({}).value();
    WeightStore store;
    uint64_t last = 0, total = 0;
    const auto count = [&](uint64_t done, uint64_t all) {
        CHECK(done > last);
        last = done;
        total = all;
        return true;
    };
    const auto weights = backend->load_weights(*model->program(), *model, store, {count, {}});
    REQUIRE(weights.ok());
    CHECK(last == total);
    CHECK(*backend->load_weights(*model->program(), *model, store, {}) == *weights);  // shared
    WeightStore other;
    const auto stopped = backend->load_weights(*model->program(), *model, other,
                                               {[](uint64_t, uint64_t) { return false; }, {}});
    REQUIRE_FALSE(stopped.ok());
    CHECK(stopped.status().code() == StatusCode::cancelled);
}

TEST_CASE("a model file that shrinks before its weights are read fails the load, with a packed cache too") {
    const TemporaryFolder folder;
    for (const std::string& packed_cache : {std::string(), folder.file("packed")}) {
        const std::string path = folder.file("model.gguf");
        std::filesystem::copy_file(tiny_path("llama"), path,
                                   std::filesystem::copy_options::overwrite_existing);
        const auto model = load_model(path).value();
        std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
        const auto backend = create_cpu_backend({}).value();
        WeightStore store;
        const auto weights = backend->load_weights(*model->program(), *model, store, {{}, packed_cache});
        REQUIRE_FALSE(weights.ok());
        CHECK(weights.status().code() == StatusCode::file_truncated);
        CHECK(weights.status().message().find("truncated") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(folder.file("packed")));
    }
}
