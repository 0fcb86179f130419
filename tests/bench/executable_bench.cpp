// Prefill and decode of a model file on the CPU backend, without engine or sampler. Not part of the suite.
//   executable_bench model.gguf [threads [prompt tokens [decoded tokens [isa]]]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "create/create.h"
#include "model/model.h"
#include "step_driver.h"

using namespace takt;
using namespace takt::test;

namespace {

constexpr int kRounds = 5;

template <typename T>
T check(Result<T> result) {
    if (!result.ok()) {
        std::fprintf(stderr, "%s\n", result.status().message().c_str());
        std::exit(1);
    }
    return std::move(*result);
}

struct Seconds {
    double prefill = 1e9, decode = 1e9, prefill_cpu = 1e9, decode_cpu = 1e9;
};

// What others run on the machine takes wall time away, but not this. With several threads it counts their
// waiting too.
double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One prompt and its continuation by the best token.
Seconds run_once(StepDriver& driver, const std::vector<int32_t>& prompt, uint32_t n_decoded,
                 uint64_t sequence) {
    const SteadyClock clock;
    Seconds seconds;
    const uint64_t start = clock.now_ns();
    const double start_cpu = cpu_seconds();
    int32_t token = 0;
    const auto step = [&](std::span<const int32_t> tokens, OutputWanted wanted) {
        const StepDriver::Chunk chunk{sequence, tokens, wanted};
        const StepOutput output = check(driver.step({&chunk, 1}));
        if (!output.argmax.empty()) token = output.argmax.back();
    };
    step(std::span(prompt).first(prompt.size() - 1), OutputWanted::none);
    step(std::span(prompt).last(1), OutputWanted::argmax);
    const uint64_t prefilled = clock.now_ns();
    const double prefilled_cpu = cpu_seconds();
    for (uint32_t i = 0; i < n_decoded; ++i) {
        const int32_t last = token;
        step({&last, 1}, OutputWanted::argmax);
    }
    seconds.prefill = static_cast<double>(prefilled - start) * 1e-9;
    seconds.decode = static_cast<double>(clock.now_ns() - prefilled) * 1e-9;
    seconds.prefill_cpu = prefilled_cpu - start_cpu;
    seconds.decode_cpu = cpu_seconds() - prefilled_cpu;
    driver.release(sequence);
    return seconds;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const auto number = [&](int i, uint32_t otherwise) {
        return argc > i ? static_cast<uint32_t>(std::atoi(argv[i])) : otherwise;
    };
    const uint32_t n_threads = number(2, 2), n_prompt = number(3, 512), n_decoded = number(4, 64);
    ThreadPool pool(n_threads);
    const Logger logger([](LogLevel, std::string_view text) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    });
    const auto backend = check(create_cpu_backend({&pool, &logger, argc > 5 ? argv[5] : ""}));
    const auto model = check(Model::load(check(open_file(argv[1])), logger));
    const Program& program = *model->program();
    WeightStore store;
    const SteadyClock clock;
    const uint64_t start = clock.now_ns();
    const auto weights = check(backend->load_weights(program, *model, store, {}));
    const double loading = static_cast<double>(clock.now_ns() - start) * 1e-9;
    CompileOptions options = compile_options(program, n_prompt, n_prompt + n_decoded + 1, 1, 32);
    options.max_output_rows = 1;
    const auto executable = check(backend->compile(model->program(), weights, options));
    StepDriver driver(program, *executable, options);
    std::vector<int32_t> prompt(n_prompt);
    for (uint32_t i = 0; i < n_prompt; ++i) prompt[i] = static_cast<int32_t>(100 + i * 37 % 1000);
    Seconds best;
    for (int round = 0; round < kRounds; ++round) {
        const Seconds seconds = run_once(driver, prompt, n_decoded, 1);
        best.prefill = std::min(best.prefill, seconds.prefill);
        best.decode = std::min(best.decode, seconds.decode);
        best.prefill_cpu = std::min(best.prefill_cpu, seconds.prefill_cpu);
        best.decode_cpu = std::min(best.decode_cpu, seconds.decode_cpu);
    }
    const MemoryPlan memory = executable->memory();
    std::printf("%s %s, %u threads\n", backend->device_info().isa.c_str(), argv[1], n_threads);
    std::printf("  prefill of %u: %.1f tokens/s, %.1f by CPU time\n", n_prompt, n_prompt / best.prefill,
                n_prompt / best.prefill_cpu);
    std::printf("  decode of %u: %.1f tokens/s, %.1f by CPU time\n", n_decoded, n_decoded / best.decode,
                n_decoded / best.decode_cpu);
    std::printf("  load %.2f s; weights %.1f MB, pages %.1f MB, scratch %.1f MB\n", loading,
                static_cast<double>(memory.weight_bytes) * 1e-6,
                static_cast<double>(memory.state_bytes) * 1e-6,
                static_cast<double>(memory.scratch_bytes) * 1e-6);
    return 0;
}
