// A window layer attends to its window alone, however deep the sequence: counted at the kernel.
#include <catch2/catch.hpp>

#include <atomic>
#include <numeric>

#include "cpu/cpu_executable.h"
#include "cpu/kernels/kernel_choice.h"
#include "create/create.h"
#include "program/builder.h"
#include "random_weights.h"
#include "step_driver.h"

using namespace takt;
using namespace takt::cpu;
using namespace takt::test;

namespace {

constexpr uint32_t kHeads = 4, kVocab = 40, kWidth = 64;

std::atomic<uint64_t> n_attended;  // positions times queries
void (*inner_attend)(const AttentionTile& tile);

void counting_attend(const AttentionTile& tile) {
    n_attended += uint64_t{tile.end - tile.first} * tile.n_queries;
    inner_attend(tile);
}

std::shared_ptr<const Program> one_layer(uint32_t window) {
    ProgramBuilder b("window", kVocab);
    const ValueId x = b.embed("x", b.weight("table", DType::f32, kVocab, kWidth));
    const StateId kv = b.kv_state("kv", b.group("group", window), 2, 16, 16);
    b.kv_append(b.matmul("k", x, b.weight("w_k", DType::f32, 32, kWidth)),
                b.matmul("v", x, b.weight("w_v", DType::f32, 32, kWidth)), kv);
    const ValueId out = b.attention("attended", x, kv, kHeads, 0.25f);
    const ValueId hidden = b.select_rows("hidden", out);
    const ValueId logits = b.matmul("logits", hidden, b.weight("head", DType::f32, kVocab, kWidth));
    return std::make_shared<const Program>(std::move(b).finish(hidden, logits).value());
}

// Positions times heads that each step of `chunk` tokens attends to.
std::vector<uint64_t> counts(uint32_t window, uint32_t n_tokens, uint32_t chunk) {
    const auto program = one_layer(window);
    ThreadPool pool(2);
    const auto backend = create_cpu_backend({&pool, nullptr, ""}).value();
    WeightStore store;
    const RandomWeights source(*program, 4);
    auto weights = std::dynamic_pointer_cast<const CpuWeights>(
        backend->load_weights(*program, source, store, {}).value());
    const CompileOptions options = compile_options(*program, chunk, n_tokens, 1, 32);
    const IsaLevel level = available_isa_levels().front();
    KernelTable kernels = make_kernel_table(level);
    inner_attend = kernels.rows.attend;
    kernels.rows.attend = counting_attend;
    StepPlan steps = make_step_plan(*program);
    CpuMemory memory = std::move(*CpuMemory::allocate(*program, steps, options, {pool.n_threads(), 0}));
    CpuExecutable executable(program, std::move(weights), options, kernels, level, std::move(steps),
                             std::move(memory), pool);
    StepDriver driver(*program, executable, options);
    std::vector<uint64_t> all;
    const std::vector<int32_t> tokens(chunk, 7);
    for (uint32_t position = 0; position < n_tokens; position += chunk) {
        const StepDriver::Chunk step{1, tokens, OutputWanted::argmax};
        n_attended = 0;
        REQUIRE(driver.step({&step, 1}).ok());
        all.push_back(n_attended);
    }
    return all;
}

uint64_t seen(uint32_t window, uint32_t position, uint32_t chunk) {
    uint64_t sum = 0;
    for (uint32_t p = position; p < position + chunk; ++p)
        sum += window == 0 ? p + 1 : std::min(p + 1, window);
    return sum * kHeads;
}

}  // namespace

TEST_CASE("a window layer attends to no more than its window, at any depth and in any chunks") {
    for (const uint32_t window : {1u, 64u, 100u, 0u}) {
        for (const uint32_t chunk : {1u, 96u}) {
            constexpr uint32_t kTokens = 1536;
            const std::vector<uint64_t> steps = counts(window, kTokens, chunk);
            for (size_t i = 0; i < steps.size(); ++i) {
                CAPTURE(window, chunk, i);
                CHECK(steps[i] == seen(window, static_cast<uint32_t>(i) * chunk, chunk));
            }
        }
    }
}
