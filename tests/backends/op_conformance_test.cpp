// Every op, for every weight type and shape that matters, on each backend against the reference.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "create/create.h"
#include "program/builder.h"
#include "random_weights.h"
#include "step_driver.h"
#include "test_backends.h"

using namespace takt;
using namespace takt::test;

namespace {

constexpr uint32_t kVocab = 33;  // no multiple of anything
constexpr uint32_t kContext = 96;
constexpr DType kTypes[] = {DType::f32,  DType::f16,  DType::bf16, DType::q4_0, DType::q4_1, DType::q5_0,
                            DType::q5_1, DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k};

// Relative error of a row, as |a - b| / |b| over the whole row.
// Plain ops round in float32. Keys and values are float16 in a fast backend (11 bits), or as asked for. A
// fast backend rounds the inputs of a product: to bf16 or f16 beside weights of such types (8 bits), to 8
// bits with a scale per 32 beside block types.
constexpr double kPlain = 2e-6, kActivation = 1e-5, kRotation = 1e-5, kPages = 1e-3, kPlainPages = 2e-5,
                 kBlockPages = 2.5e-2, kSamePages = 1e-3, kHalfProduct = 6e-3, kBlockProduct = 1.2e-2;

double product_tolerance(DType dtype) {
    if (dtype == DType::f32) return 2e-5;  // sums in another order
    return is_block_quantized(dtype) ? kBlockProduct : kHalfProduct;
}

struct OpCase {
    std::string name;
    double tolerance;
    uint32_t width;                                         // of the embedding that feeds the op
    std::function<ValueId(ProgramBuilder&, ValueId)> body;  // from the embedding to the op's output
    std::optional<DType> kv_dtype = {};
};

// embed, the op, then selected rows, which the test reads as the hidden row. The head is there because a
// program has one.
Program program_of(const OpCase& op) {
    ProgramBuilder b("conformance", kVocab);
    const ValueId x = b.embed("x", b.weight("table", DType::f32, kVocab, op.width));
    const ValueId hidden = b.select_rows("hidden", op.body(b, x));
    const ValueId logits = b.matmul("logits", hidden, b.weight("head", DType::f32, kVocab, b.width(hidden)));
    Result<Program> program = std::move(b).finish(hidden, logits);
    INFO(op.name << ": " << program.status().message());
    REQUIRE(program.ok());
    return std::move(*program);
}

// Hidden rows of all tokens, fed in chunks.
std::vector<float> run_on(Backend& backend, const std::shared_ptr<const Program>& program,
                          std::span<const int32_t> tokens, size_t chunk_tokens, bool deterministic,
                          std::optional<DType> kv_dtype) {
    WeightStore store;
    const RandomWeights source(*program, 5);
    auto weights = backend.load_weights(*program, source, store, {});
    INFO(backend.name() << ": " << weights.status().message());
    REQUIRE(weights.ok());
    CompileOptions options = compile_options(*program, kContext, kContext);
    options.deterministic = deterministic;
    options.kv_dtype = kv_dtype;
    auto executable = backend.compile(program, *weights, options);
    INFO(executable.status().message());
    REQUIRE(executable.ok());
    StepDriver driver(*program, **executable, options);
    std::vector<float> rows;
    for (size_t start = 0; start < tokens.size(); start += chunk_tokens) {
        const StepDriver::Chunk chunk{1, tokens.subspan(start, std::min(chunk_tokens, tokens.size() - start)),
                                      OutputWanted::hidden};
        const Result<StepOutput> step = driver.step({&chunk, 1});
        INFO(step.status().message());
        REQUIRE(step.ok());
        rows.insert(rows.end(), step->hidden.begin(), step->hidden.end());
    }
    return rows;
}

// A row that happens to be small is measured against the mean row: a sum of products near zero keeps the
// error of its terms.
double worst_row_error(std::span<const float> got, std::span<const float> expected, size_t width) {
    double all = 0, worst = 0;
    for (float x : expected) all += static_cast<double>(x) * x;
    const double mean = all * static_cast<double>(width) / static_cast<double>(expected.size());
    for (size_t start = 0; start < got.size(); start += width) {
        double difference = 0, size = 0;
        for (size_t i = start; i < start + width; ++i) {
            difference += std::pow(static_cast<double>(got[i]) - expected[i], 2);
            size += std::pow(static_cast<double>(expected[i]), 2);
        }
        const double error = std::sqrt(difference / std::max({size, mean, 1e-30}));
        worst = error <= worst ? worst : error;  // a NaN becomes the worst
    }
    return worst;
}

void check_case(const OpCase& op) {
    constexpr size_t kTokens = 37;
    const auto program = std::make_shared<const Program>(program_of(op));
    std::vector<int32_t> tokens(kTokens);
    for (size_t i = 0; i < kTokens; ++i) tokens[i] = static_cast<int32_t>(i * 7 % kVocab);
    const size_t width = program->value(program->hidden).width;
    const std::vector<float> expected =
        run_on(*create_reference_backend({}).value(), program, tokens, kTokens, false, {});
    const std::vector<float> same_pages =
        run_on(*create_reference_backend({}).value(), program, tokens, kTokens, false, op.kv_dtype);
    for (TestedBackend& tested : backends_under_test()) {
        const Status supported = tested.backend->supports(*program);
        CAPTURE(op.name, tested.label, supported.message());
        REQUIRE(supported.ok());
        const std::vector<float> rows = run_on(*tested.backend, program, tokens, kTokens, false, op.kv_dtype);
        CHECK(worst_row_error(rows, expected, width) <= op.tolerance);
        // Pages of the same type on both sides: what is left is arithmetic.
        if (op.kv_dtype) CHECK(worst_row_error(rows, same_pages, width) <= kSamePages);
        // Row by row, and in chunks of 5, the same bits.
        const std::vector<float> exact = run_on(*tested.backend, program, tokens, kTokens, true, op.kv_dtype);
        CHECK(worst_row_error(exact, expected, width) <= op.tolerance);
        CHECK(run_on(*tested.backend, program, tokens, 1, true, op.kv_dtype) == exact);
        CHECK(run_on(*tested.backend, program, tokens, 5, true, op.kv_dtype) == exact);
    }
}

std::string typed(const char* op, DType dtype) {
    return std::string(op) + " " + std::string(dtype_info(dtype).name);
}

}  // namespace

TEST_CASE("embed conforms for every weight type") {
    for (DType dtype : kTypes) {
        check_case({typed("embed", dtype), kPlain, 256, [&](ProgramBuilder& b, ValueId x) {
                        return b.add("sum", x, b.embed("typed", b.weight("typed_table", dtype, kVocab, 256)));
                    }});
    }
}

TEST_CASE("matmul conforms for every weight type, with and without bias, for odd numbers of rows") {
    for (DType dtype : kTypes) {
        for (uint32_t rows : {1u, 48u, 77u}) {
            check_case(
                // A row of one number has no others to average its error with.
                {typed("matmul", dtype), product_tolerance(dtype) * (rows == 1 ? 2 : 1), 512,
                 [&](ProgramBuilder& b, ValueId x) {
                     return b.matmul("y", x, b.weight("w", dtype, rows, 512));
                 }});
        }
        check_case({typed("matmul with bias", dtype), product_tolerance(dtype), 256,
                    [&](ProgramBuilder& b, ValueId x) {
                        const WeightId weight = b.weight("w", dtype, 40, 256);
                        return b.matmul("y", x, weight, b.weight("b", DType::f32, 1, 40));
                    }});
    }
}

TEST_CASE("matmul conforms for columns that are an odd number of blocks") {
    for (DType dtype : {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0}) {
        check_case({typed("matmul", dtype), product_tolerance(dtype), 160, [&](ProgramBuilder& b, ValueId x) {
                        return b.matmul("y", x, b.weight("w", dtype, 24, 160));
                    }});
    }
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        check_case({typed("matmul", dtype), product_tolerance(dtype), 37, [&](ProgramBuilder& b, ValueId x) {
                        return b.matmul("y", x, b.weight("w", dtype, 24, 37));
                    }});
    }
}

TEST_CASE("rms_norm conforms over whole rows and over heads") {
    for (uint32_t group : {96u, 32u, 12u}) {
        check_case({"rms_norm", kPlain, 96, [&](ProgramBuilder& b, ValueId x) {
                        return b.rms_norm("y", x, b.weight("w", DType::f32, 1, group), 1e-5f);
                    }});
    }
}

TEST_CASE("rope conforms in both styles, for part of a head, scaled and with factors") {
    for (RopeStyle style : {RopeStyle::interleaved, RopeStyle::neox}) {
        for (uint32_t rotated : {24u, 16u, 2u}) {
            for (float scale : {1.0f, 0.25f}) {
                check_case({"rope", kRotation, 72, [&](ProgramBuilder& b, ValueId x) {
                                return b.rope("y", x,
                                              RopeOp{{}, {}, 24, rotated, style, 10000.0f, scale, {}});
                            }});
            }
        }
    }
    check_case({"rope with factors", kRotation, 72, [&](ProgramBuilder& b, ValueId x) {
                    return b.rope("y", x,
                                  RopeOp{{},
                                         {},
                                         24,
                                         24,
                                         RopeStyle::interleaved,
                                         500000.0f,
                                         1,
                                         b.weight("factors", DType::f32, 1, 12)});
                }});
}

struct AttentionShape {
    uint32_t n_heads, n_kv_heads, key_dim, value_dim, window;
    float soft_cap;
};

// x feeds queries, keys and values.
OpCase attention_case(const AttentionShape& s, double tolerance, std::optional<DType> kv_dtype = {}) {
    const std::string name = kv_dtype ? typed("attention", *kv_dtype) : "attention";
    const auto body = [s](ProgramBuilder& b, ValueId x) {
        const StateId kv = b.kv_state("kv", b.group("group", s.window), s.n_kv_heads, s.key_dim, s.value_dim);
        const ValueId keys =
            b.matmul("k", x, b.weight("w_k", DType::f32, s.n_kv_heads * s.key_dim, b.width(x)));
        const ValueId values =
            b.matmul("v", x, b.weight("w_v", DType::f32, s.n_kv_heads * s.value_dim, b.width(x)));
        b.kv_append(keys, values, kv);
        return b.attention("y", x, kv, s.n_heads, 0.1f, s.soft_cap);
    };
    return {name, tolerance, s.n_heads * s.key_dim, body, kv_dtype};
}

TEST_CASE("attention conforms for shared key heads, unequal dimensions, a window and a soft cap") {
    for (const AttentionShape& s :
         {AttentionShape{4, 4, 16, 16, 0, 0}, AttentionShape{4, 2, 32, 32, 0, 0},
          AttentionShape{6, 1, 20, 20, 0, 0}, AttentionShape{4, 2, 16, 24, 0, 0},
          AttentionShape{4, 2, 16, 16, 5, 0}, AttentionShape{2, 1, 64, 64, 16, 0},
          AttentionShape{2, 1, 32, 32, 1, 0}, AttentionShape{4, 2, 16, 16, 0, 2.0f}}) {
        check_case(attention_case(s, kPages));
    }
}

TEST_CASE("attention conforms with keys and values of every type") {
    for (const AttentionShape& s :
         {AttentionShape{4, 4, 32, 32, 0, 0}, AttentionShape{4, 2, 64, 96, 0, 0},
          AttentionShape{6, 1, 96, 32, 9, 0}, AttentionShape{4, 2, 32, 64, 0, 2.0f}}) {
        check_case(attention_case(s, kPlainPages, DType::f32));
        check_case(attention_case(s, kPages, DType::f16));
        check_case(attention_case(s, kBlockPages, DType::q8_0));
    }
}

TEST_CASE("gated_activation conforms for both activations") {
    for (Activation activation : {Activation::silu, Activation::gelu_tanh}) {
        check_case({"gated_activation", kActivation, 75, [&](ProgramBuilder& b, ValueId x) {
                        const ValueId wide = b.scale("wide", x, 8);  // reaches where the curves flatten
                        return b.gated_activation("y", wide, x, activation);
                    }});
    }
}

TEST_CASE("add, scale and soft_cap conform") {
    check_case({"add", kPlain, 75,
                [](ProgramBuilder& b, ValueId x) { return b.add("y", x, b.scale("twice", x, 2)); }});
    check_case({"scale", kPlain, 75, [](ProgramBuilder& b, ValueId x) { return b.scale("y", x, 0.3f); }});
    check_case(
        {"soft_cap", kActivation, 75, [](ProgramBuilder& b, ValueId x) { return b.soft_cap("y", x, 0.7f); }});
}

TEST_CASE("Neighbouring ops conform where a backend may fuse them") {
    for (DType dtype : {DType::f32, DType::q4_1, DType::q6_k}) {
        check_case({typed("norm, gate, up, activation, down, add with", dtype), 2 * product_tolerance(dtype),
                    256, [&](ProgramBuilder& b, ValueId x) {
                        const ValueId normed =
                            b.rms_norm("normed", x, b.weight("norm", DType::f32, 1, 256), 1e-5f);
                        const ValueId gate = b.matmul("gate", normed, b.weight("w_gate", dtype, 512, 256));
                        const ValueId up = b.matmul("up", normed, b.weight("w_up", dtype, 512, 256));
                        const ValueId gated = b.gated_activation("gated", gate, up, Activation::silu);
                        return b.add("y", x, b.matmul("down", gated, b.weight("w_down", dtype, 256, 512)));
                    }});
    }
}
