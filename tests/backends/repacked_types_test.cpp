// Tensor types that no kernel reads, run on the CPU backend in the form they are repacked to and by the
// reference as they are.
#include <catch2/catch.hpp>

#include <cmath>

#include "create/create.h"
#include "random_weights.h"
#include "step_driver.h"
#include "tiny_models.h"

using namespace takt;
using namespace takt::test;

namespace {

constexpr DType kTypes[] = {DType::q2_k,   DType::q3_k,  DType::iq1_s, DType::iq1_m,   DType::iq2_xxs,
                            DType::iq2_xs, DType::iq2_s, DType::iq3_s, DType::iq3_xxs, DType::iq4_nl,
                            DType::iq4_xs, DType::tq1_0, DType::tq2_0, DType::mxfp4,   DType::nvfp4,
                            DType::q1_0,   DType::q2_0};

// The tiny llama's program with matrices of another type where its rows are whole blocks.
std::shared_ptr<const Program> program_of(DType dtype) {
    const auto model = load_tiny("quant-q8_0");
    auto program = std::make_shared<Program>(*model->program());
    size_t n_changed = 0;
    for (WeightDecl& weight : program->weights) {
        if (weight.rows == 1 || weight.columns % dtype_info(dtype).block_elements != 0) continue;
        weight.dtype = dtype;
        ++n_changed;
    }
    REQUIRE(n_changed >= 7);
    return program;
}

std::vector<float> logits_of(Result<std::unique_ptr<Backend>> backend,
                             const std::shared_ptr<const Program>& program, const WeightSource& source,
                             std::span<const int32_t> ids) {
    REQUIRE(backend.ok());
    WeightStore store;
    CompileOptions options = compile_options(*program, 96, 96);
    options.kv_dtype = DType::f32;
    options.deterministic = true;
    auto weights = (*backend)->load_weights(*program, source, store, {});
    INFO(weights.status().message());
    REQUIRE(weights.ok());
    const auto plan = (*backend)->plan(*program, options);
    REQUIRE(plan.ok());
    CHECK(plan->weight_bytes == (*weights)->size_bytes());
    auto executable = (*backend)->compile(program, *weights, options);
    REQUIRE(executable.ok());
    StepDriver driver(*program, **executable, options);
    Result<std::vector<float>> logits = driver.logits(1, ids, 7);
    REQUIRE(logits.ok());
    return std::move(*logits);
}

// Random weights of a spread that models have, whatever the type makes of its scales.
RandomWeights weights_of(const Program& program, DType dtype) {
    const RandomWeights first(program, 11);
    for (const WeightDecl& weight : program.weights) {
        if (weight.dtype != dtype) continue;
        std::vector<std::byte> row(row_bytes(dtype, weight.columns));
        std::vector<float> values(weight.columns);
        double sum = 0;
        for (uint32_t i = 0; i < weight.rows; ++i) {
            REQUIRE(first.read(weight.name, i * row.size(), row).ok());
            dequantize_row(dtype, row, values);
            for (const float x : values) sum += double{x} * x;
        }
        const double spread = std::sqrt(sum / (double{1} * weight.rows * weight.columns));
        return {program, 11, static_cast<float>(0.01 * 0.1 / spread)};
    }
    return first;
}

double kl_divergence(const float* expected, const float* got, size_t n) {
    double expected_sum = 0, got_sum = 0, kl = 0;
    for (size_t i = 0; i < n; ++i) expected_sum += std::exp(double{expected[i]});
    for (size_t i = 0; i < n; ++i) got_sum += std::exp(double{got[i]});
    for (size_t i = 0; i < n; ++i) {
        const double log_p = expected[i] - std::log(expected_sum), log_q = got[i] - std::log(got_sum);
        kl += std::exp(log_p) * (log_p - log_q);
    }
    return kl;
}

}  // namespace

TEST_CASE("types without kernels give the reference's logits on the CPU, but for rounded activations") {
    ThreadPool pool(2);
    for (const DType dtype : kTypes) {
        INFO(dtype_info(dtype).name);
        const auto program = program_of(dtype);
        const RandomWeights source = weights_of(*program, dtype);
        const std::vector<int32_t> ids = golden_sequences("quant-q8_0").back().ids;
        const size_t vocab = program->vocab_size;
        const std::vector<float> expected = logits_of(create_reference_backend({}), program, source, ids);
        const std::vector<float> got =
            logits_of(create_cpu_backend({&pool, nullptr, ""}), program, source, ids);
        REQUIRE(got.size() == expected.size());
        double sum = 0, spread = 0;
        for (size_t row = 0; row < ids.size(); ++row)
            sum += kl_divergence(&expected[row * vocab], &got[row * vocab], vocab);
        for (const float x : expected) spread += double{x} * x;
        spread = std::sqrt(spread / static_cast<double>(expected.size()));
        const double mean = sum / static_cast<double>(ids.size());
        CHECK(mean < 1e-3);  // measured 4e-5 to 5.5e-4; the usual engine has 1e-3 to 2.4e-3
        CHECK(mean > 0);
        CHECK(spread > 0.1);
    }
}
