// What depth costs on the CPU backend: prefill of 512 rows and decode at a depth against the same at depth 0,
// and the time that attention adds against oneDNN's float32 product in the same run. Not part of the suite.
//   attention_bench model.gguf [threads [depth [f16|q8_0|f32 [isa]]]]   (OMP_NUM_THREADS = threads)
// What lies before is one page copied everywhere: attention's time doesn't depend on the numbers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "create/create.h"
#include "model/model.h"
#include "step_driver.h"

using namespace takt;
using namespace takt::test;

namespace {

constexpr uint32_t kRows = 512, kDecoded = 16, kPageTokens = 32;
constexpr int kRounds = 7;

template <typename T>
T check(Result<T> result) {
    if (!result.ok()) {
        std::fprintf(stderr, "%s\n", result.status().message().c_str());
        std::exit(1);
    }
    return std::move(*result);
}

// What others run takes wall time away, but not CPU time; with several threads that counts their waiting too.
double now_seconds(bool wall) {
    timespec now{};
    clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Bench {
    const Program& program;
    Executable& executable;
    std::vector<uint32_t> pages;
    bool wall;

    // Seconds of one step of n rows at a position.
    double step(uint32_t position, uint32_t n) {
        std::vector<int32_t> tokens(n);
        for (uint32_t i = 0; i < n; ++i) tokens[i] = static_cast<int32_t>(100 + i * 37 % 1000);
        std::vector<OutputWanted> wanted(n, OutputWanted::none);
        wanted.back() = OutputWanted::argmax;
        const std::vector<BlockTable> tables(program.groups.size(), BlockTable(pages));
        const BatchSequence sequence{1, 0, n, position, tables};
        const double start = now_seconds(wall);
        check(executable.run({tokens, wanted, {&sequence, 1}}));
        return now_seconds(wall) - start;
    }
    double decode(uint32_t position) {
        double seconds = 0;
        for (uint32_t i = 0; i < kDecoded; ++i) seconds += step(position + i, 1);
        return seconds / kDecoded;
    }
};

double product_seconds(int rows, int columns, int inner, bool wall) {
    static std::vector<float> a(size_t{512} * 1536, 1.0f), b(size_t{1536} * 1536, 1.0f), c(a.size());
    const double start = now_seconds(wall);
    dnnl_sgemm('N', 'N', rows, columns, inner, 1.0f, a.data(), inner, b.data(), columns, 0.0f, c.data(),
               columns);
    return now_seconds(wall) - start;
}

// Operations of the attention of n rows from a position on, over all layers.
double attention_operations(const Program& program, uint32_t position, uint32_t n) {
    double operations = 0;
    for (const Op& op : program.ops) {
        const auto* attention = std::get_if<AttentionOp>(&op);
        if (!attention) continue;
        const KvStateDecl& state = program.state(attention->state);
        const uint32_t window = program.groups[state.group].window;
        for (uint32_t p = position; p < position + n; ++p) {
            const uint32_t seen = window == 0 ? p + 1 : std::min(p + 1, window);
            operations += 2.0 * attention->n_heads * (state.key_dim + state.value_dim) * seen;
        }
    }
    return operations;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const auto number = [&](int i, uint32_t otherwise) {
        return argc > i ? static_cast<uint32_t>(std::atoi(argv[i])) : otherwise;
    };
    const uint32_t n_threads = number(2, 1), depth = number(3, 4096);
    const std::string kv = argc > 4 ? argv[4] : "f16";
    ThreadPool pool(n_threads);
    const auto backend = check(create_cpu_backend({&pool, nullptr, argc > 5 ? argv[5] : ""}));
    const auto model = check(Model::load(check(open_file(argv[1])), Logger()));
    const Program& program = *model->program();
    WeightStore store;
    const auto weights = check(backend->load_weights(program, *model, store, {}));
    CompileOptions options = compile_options(program, kRows, depth + kRows, 1, kPageTokens);
    options.max_output_rows = 1;
    options.kv_dtype = kv == "q8_0" ? DType::q8_0 : kv == "f32" ? DType::f32 : DType::f16;
    const auto executable = check(backend->compile(model->program(), weights, options));
    Bench bench{program, *executable, std::vector<uint32_t>(options.n_pages[0]), n_threads > 1};
    std::iota(bench.pages.begin(), bench.pages.end(), 0u);
    bench.step(0, kPageTokens);
    for (uint32_t group = 0; group < program.groups.size(); ++group) {
        for (uint32_t page = 1; page < options.n_pages[group]; ++page) {
            if (!executable->copy_page(group, 0, page).ok()) return 1;
        }
    }
    double prefill[2] = {1e9, 1e9}, decode[2] = {1e9, 1e9}, product = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        for (const int deep : {0, 1}) {
            prefill[deep] = std::min(prefill[deep], bench.step(deep ? depth : 0, kRows));
            decode[deep] = std::min(decode[deep], bench.decode(deep ? depth : 0));
            for (int i = 0; i < 5; ++i)
                product = std::min(product, product_seconds(512, 1536, 1536, bench.wall));
        }
    }
    const double added =
        attention_operations(program, depth, kRows) - attention_operations(program, 0, kRows);
    const double rate = 1e-9 * added / (prefill[1] - prefill[0]), onednn = 2e-9 * 512 * 1536 * 1536 / product;
    const double pages = static_cast<double>(executable->memory().state_bytes) * depth / (depth + kRows);
    std::printf("%s, %u threads, %s keys and values, depth %u\n", backend->device_info().isa.c_str(),
                n_threads, kv.c_str(), depth);
    std::printf(
        "  prefill of %u: %.1f and %.1f tokens/s (%.0f %%); attention adds %.1f GFLOP/s, oneDNN f32 %.1f "
        "(%.0f %%)\n",
        kRows, kRows / prefill[0], kRows / prefill[1], 100 * prefill[0] / prefill[1], rate, onednn,
        100 * rate / onednn);
    std::printf("  decode: %.2f and %.2f tokens/s (%.0f %%); %.1f MB of pages read at %.1f GB/s\n",
                1 / decode[0], 1 / decode[1], 100 * decode[0] / decode[1], 1e-6 * pages,
                1e-9 * pages / (decode[1] - decode[0]));
    return 0;
}
