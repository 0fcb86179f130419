// Long sequences on the CPU backend: chunks of positions shared between threads, windows, pages that end
// anywhere, reused pages.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "create/create.h"
#include "program/builder.h"
#include "random_weights.h"
#include "step_driver.h"

using namespace takt;
using namespace takt::test;

namespace {

constexpr uint32_t kVocab = 48, kPoison = 41 /* a token whose embedding is NaN */, kWidth = 64,
                   kContext = 1300;

constexpr DType kKvTypes[] = {DType::f16, DType::q8_0, DType::f32};

// Two layers, one of them with a window, both feeding attention with rotated heads.
std::shared_ptr<const Program> long_program() {
    ProgramBuilder b("long", kVocab);
    ValueId x = b.embed("x", b.weight("table", DType::f32, kVocab, kWidth));
    for (const uint32_t window : {0u, 600u}) {
        const std::string layer = window ? "window." : "full.";
        const uint32_t group = b.group(layer + "group", window);
        const StateId kv = b.kv_state(layer + "kv", group, 2, 32, 32);
        const ValueId normed =
            b.rms_norm(layer + "normed", x, b.weight(layer + "norm", DType::f32, 1, kWidth), 1e-5f);
        const auto rotated = [&](const char* name, uint32_t rows) {
            const ValueId in =
                b.matmul(layer + name, normed, b.weight(layer + "w_" + name, DType::q8_0, rows, kWidth));
            return b.rope(layer + name + "_rope", in,
                          RopeOp{{}, {}, 32, 32, RopeStyle::neox, 10000.0f, 1.0f, {}});
        };
        const ValueId q = rotated("q", 128), k = rotated("k", 64);
        const ValueId v = b.matmul(layer + "v", normed, b.weight(layer + "w_v", DType::q4_0, 64, kWidth));
        b.kv_append(k, v, kv);
        const ValueId attended = b.attention(layer + "attended", q, kv, 4, 0.18f);
        x = b.add(layer + "out", x,
                  b.matmul(layer + "o", attended, b.weight(layer + "w_o", DType::q4_1, kWidth, 128)));
    }
    const ValueId hidden = b.select_rows("hidden", x);
    const ValueId logits = b.matmul("logits", hidden, b.weight("head", DType::f32, kVocab, kWidth));
    Result<Program> program = std::move(b).finish(hidden, logits);
    INFO(program.status().message());
    REQUIRE(program.ok());
    return std::make_shared<const Program>(std::move(*program));
}

std::vector<int32_t> some_tokens(size_t n) {
    std::vector<int32_t> tokens(n);
    for (size_t i = 0; i < n; ++i) tokens[i] = static_cast<int32_t>(i * 7 % kPoison);
    return tokens;
}

class PoisonedWeights final : public WeightSource {
public:
    explicit PoisonedWeights(const Program& program) : inner_(program, 3) {}
    uint64_t fingerprint() const override { return inner_.fingerprint(); }
    uint64_t instance() const override { return inner_.instance(); }
    Status read(std::string_view weight, uint64_t offset_bytes, std::span<std::byte> out) const override {
        TAKT_RETURN_IF_ERROR(inner_.read(weight, offset_bytes, out));
        if (weight != "table") return {};
        const float nan = std::numeric_limits<float>::quiet_NaN();
        for (uint64_t at = uint64_t{kPoison} * kWidth * sizeof nan;
             at < uint64_t{kPoison + 1} * kWidth * sizeof nan; at += sizeof nan) {
            if (at >= offset_bytes && at + sizeof nan <= offset_bytes + out.size())
                std::memcpy(out.data() + (at - offset_bytes), &nan, sizeof nan);
        }
        return {};
    }

private:
    RandomWeights inner_;
};

struct Compiled {
    std::shared_ptr<const Program> program = long_program();
    ThreadPool pool;
    std::unique_ptr<Backend> backend;
    PoisonedWeights source{*program};
    WeightStore store;
    CompileOptions options;
    std::unique_ptr<Executable> executable;
    std::unique_ptr<StepDriver> driver;

    Compiled(Result<std::unique_ptr<Backend>> (*create)(const BackendContext&), uint32_t n_threads,
             uint32_t page_tokens, std::optional<DType> kv_dtype = {})
        : pool(n_threads),
          backend(create({&pool, nullptr, ""}).value()),
          options(compile_options(*program, 512, kContext, 2, page_tokens)) {
        options.kv_dtype = kv_dtype;
        auto weights = backend->load_weights(*program, source, store, {});
        REQUIRE(weights.ok());
        auto compiled = backend->compile(program, *weights, options);
        INFO(compiled.status().message());
        REQUIRE(compiled.ok());
        executable = std::move(*compiled);
        driver = std::make_unique<StepDriver>(*program, *executable, options);
    }

    // Logits of the last `n_last` tokens, fed one by one after the others in chunks.
    std::vector<float> last_logits(const std::vector<int32_t>& tokens, size_t n_last, size_t chunk) {
        const std::span<const int32_t> all(tokens);
        const size_t n_first = tokens.size() - n_last;
        REQUIRE(driver->logits(1, all.first(n_first), chunk).ok());
        Result<std::vector<float>> logits = driver->logits(1, all.last(n_last), 1);
        REQUIRE(logits.ok());
        driver->release(1);
        return std::move(*logits);
    }
};

}  // namespace

TEST_CASE("a long sequence gets the same bits from any number of threads, chunks and page sizes") {
    const DType kv_dtype = GENERATE(from_range(std::begin(kKvTypes), std::end(kKvTypes)));
    const std::vector<int32_t> tokens = some_tokens(1290);
    const std::vector<float> expected =
        Compiled(create_cpu_backend, 1, 32, kv_dtype).last_logits(tokens, 5, 512);
    CHECK(std::ranges::all_of(expected, [](float x) { return std::isfinite(x); }));
    for (const uint32_t n_threads : {1u, 2u, 3u, 8u}) {
        for (const uint32_t page_tokens : {16u, 24u, 32u, 128u}) {
            Compiled compiled(create_cpu_backend, n_threads, page_tokens, kv_dtype);
            CHECK(compiled.last_logits(tokens, 5, 100) == expected);
        }
    }
}

TEST_CASE("a long sequence is close to the reference, in the window too") {
    const DType kv_dtype = GENERATE(from_range(std::begin(kKvTypes), std::end(kKvTypes)));
    const std::vector<int32_t> tokens = some_tokens(1290);
    const std::vector<float> expected =
        Compiled(create_reference_backend, 2, 32, kv_dtype).last_logits(tokens, 5, 512);
    const std::vector<float> got = Compiled(create_cpu_backend, 2, 32, kv_dtype).last_logits(tokens, 5, 512);
    double difference = 0, size = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        difference += std::pow(static_cast<double>(got[i]) - expected[i], 2);
        size += std::pow(static_cast<double>(expected[i]), 2);
    }
    CHECK(std::sqrt(difference / size) < 0.02);
}

TEST_CASE(
    "pages that a broken sequence left behind don't harm the next one, nor does it harm its neighbour") {
    Compiled compiled(create_cpu_backend, 2, 32,
                      GENERATE(from_range(std::begin(kKvTypes), std::end(kKvTypes))));
    const std::vector<int32_t> tokens = some_tokens(600), poison(1290, static_cast<int32_t>(kPoison));
    const std::vector<float> expected = compiled.driver->logits(1, tokens, 100).value();
    compiled.driver->release(1);
    for (int round = 0; round < 2; ++round) {
        // Every page of this sequence holds NaN; the next sequence gets some of them.
        const std::vector<float> broken = compiled.driver->logits(2, poison, 512).value();
        CHECK(std::isnan(broken.back()));
        compiled.driver->release(2);
        CHECK(compiled.driver->logits(1, tokens, 100).value() == expected);
        compiled.driver->release(1);
    }
    const std::span<const int32_t> all(tokens), bad(poison);
    const StepDriver::Chunk chunks[] = {{1, all.first(200), OutputWanted::argmax},
                                        {2, bad.first(200), OutputWanted::argmax}};
    const Result<StepOutput> output = compiled.driver->step(chunks);
    REQUIRE(output.ok());
    CHECK(std::equal(output->logits.begin(), output->logits.begin() + 200 * kVocab, expected.begin()));
    CHECK(output->argmax[0] >= 0);
    CHECK(output->argmax[399] == -1);
}

TEST_CASE("pages hold what their type takes, and are allocated as planned") {
    // Two layers of 2 heads of 32 keys and 32 values.
    const auto bytes_a_position = [](DType kv_dtype) {
        Compiled compiled(create_cpu_backend, 1, 24, kv_dtype);
        const MemoryPlan memory = compiled.executable->memory();
        const MemoryPlan plan = compiled.backend->plan(*compiled.program, compiled.options).value();
        CHECK(plan.state_bytes == memory.state_bytes);
        CHECK(plan.scratch_bytes == memory.scratch_bytes);
        const uint64_t positions = uint64_t{compiled.options.n_pages[0]} * 24;
        CHECK(memory.state_bytes % positions == 0);
        return memory.state_bytes / positions;
    };
    CHECK(bytes_a_position(DType::f32) == 2 * 2 * 64 * 4);
    CHECK(bytes_a_position(DType::f16) == 2 * 2 * 64 * 2);
    CHECK(bytes_a_position(DType::q8_0) == 2 * 2 * 2 * 34);
}

TEST_CASE("a type of keys and values that a model or takt can't have is refused by name") {
    ProgramBuilder b("narrow", kVocab);
    const ValueId x = b.embed("x", b.weight("table", DType::f32, kVocab, kWidth));
    const StateId kv = b.kv_state("blk.0.kv", b.group("full", 0), 1, 32, 24);
    b.kv_append(b.matmul("k", x, b.weight("w_k", DType::f32, 32, kWidth)),
                b.matmul("v", x, b.weight("w_v", DType::f32, 24, kWidth)), kv);
    const ValueId out =
        b.attention("attended", b.matmul("q", x, b.weight("w_q", DType::f32, 64, kWidth)), kv, 2, 0.2f);
    const ValueId hidden = b.select_rows("hidden", out);
    const ValueId logits = b.matmul("logits", hidden, b.weight("head", DType::f32, kVocab, 48));
    const Program program = std::move(b).finish(hidden, logits).value();
    CompileOptions options = compile_options(program, 8, 64);
    for (const auto& create : {create_cpu_backend, create_reference_backend}) {
        const auto backend = create({}).value();
        options.kv_dtype = DType::q8_0;
        CHECK(backend->plan(program, options).status().message() ==
              "Keys and values can't be q8_0: a head of blk.0.kv has 24 dimensions, no multiple of 32.");
        options.kv_dtype = DType::q4_k;
        CHECK(backend->plan(program, options).status().message() ==
              "Keys and values can't be q4_k; f32, f16 and q8_0 they can.");
        options.kv_dtype = DType::f32;
        CHECK(backend->plan(program, options).ok());
    }
}

TEST_CASE("a page copied for a fork serves as the original") {
    Compiled compiled(create_cpu_backend, 1, 32,
                      GENERATE(from_range(std::begin(kKvTypes), std::end(kKvTypes))));
    CHECK_FALSE(compiled.executable->copy_page(2, 0, 1).ok());
    CHECK_FALSE(compiled.executable->copy_page(0, 0, 4000).ok());
    const std::vector<int32_t> tokens = some_tokens(33);
    const std::vector<uint32_t> first = {3, 7}, fork = {5, 7};
    const auto run = [&](uint64_t sequence, size_t start, size_t n, const std::vector<uint32_t>& pages) {
        const BlockTable tables[] = {pages, pages};
        const std::vector<OutputWanted> wanted(n, OutputWanted::logits);
        const BatchSequence batch{sequence, 0, static_cast<uint32_t>(n), static_cast<uint32_t>(start),
                                  tables};
        const StepOutput output =
            compiled.executable->run({std::span(tokens).subspan(start, n), wanted, {&batch, 1}}).value();
        return std::vector<float>(output.logits.begin(), output.logits.end());
    };
    run(1, 0, 32, first);
    const std::vector<float> expected = run(1, 32, 1, first);
    for (const uint32_t group : {0u, 1u}) REQUIRE(compiled.executable->copy_page(group, 3, 5).ok());
    CHECK(run(2, 32, 1, fork) == expected);
    CHECK(compiled.executable->commit(2, 1).ok());
    CHECK_FALSE(compiled.executable->commit(2, 2).ok());
    CHECK_FALSE(compiled.executable->commit(1, 1).ok());
}

TEST_CASE(
    "dense products of many rows are close to the exact ones, with bias and residual, and allocate what was "
    "planned") {
    ProgramBuilder b("dense", kVocab);
    const ValueId x = b.embed("x", b.weight("table", DType::f32, kVocab, kWidth));
    const ValueId wide = b.matmul("wide", x, b.weight("w_wide", DType::f16, 200, kWidth),
                                  b.weight("bias", DType::f32, 1, 200));
    const ValueId out = b.add("out", b.scale("twice", x, 2),
                              b.matmul("narrow", wide, b.weight("w_narrow", DType::f16, kWidth, 200)));
    const ValueId hidden = b.select_rows("hidden", out);
    const ValueId logits = b.matmul("logits", hidden, b.weight("head", DType::f32, kVocab, kWidth));
    const auto program = std::make_shared<const Program>(std::move(b).finish(hidden, logits).value());
    const PoisonedWeights source(*program);
    ThreadPool pool(2);
    const std::vector<std::string> levels = create_cpu_backend({}).value()->device_info().isa_levels;
    for (const std::string& level : levels) {
        INFO(level);
        const auto backend = create_cpu_backend({&pool, nullptr, level}).value();
        WeightStore store;
        const auto weights = backend->load_weights(*program, source, store, {}).value();
        const std::vector<int32_t> tokens = some_tokens(300);
        std::vector<float> rows[2];
        for (const bool deterministic : {false, true}) {
            CompileOptions options = compile_options(*program, 300, 300);
            options.deterministic = deterministic;
            const auto executable = backend->compile(program, weights, options).value();
            CHECK(executable->memory().scratch_bytes == backend->plan(*program, options)->scratch_bytes);
            StepDriver driver(*program, *executable, options);
            rows[deterministic] = driver.logits(1, tokens, 300).value();
        }
        for (size_t i = 0; i < rows[0].size(); ++i)
            CHECK(rows[0][i] == Approx(rows[1][i]).epsilon(1e-4).margin(1e-3));
    }
}
