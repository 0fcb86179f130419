// Measures the CPU products against this machine's limits in the same run: bytes a second of one row against
// a plain read, and operations a second of 512 rows against oneDNN's int8 product. Not part of the suite; one
// thread (OMP_NUM_THREADS=1 for oneDNN).
//   matmul_bench [type [isa [rows columns]]]
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "block_weights.h"
#include "cpu/cpu_features.h"
#include "cpu/kernels/kernel_choice.h"
#include "cpu/kernels/packed_matrix.h"

using namespace takt;
using namespace takt::cpu;

namespace {

// CPU time of this thread: what others run on the machine takes wall time away, but not this.
double now_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds of the best of several calls, over at least `budget` seconds in all.
template <typename F>
double best_seconds(F&& body, double budget = 0.25) {
    body();
    double best = 1e9, spent = 0;
    while (spent < budget) {
        const double start = now_seconds();
        body();
        const double seconds = now_seconds() - start;
        best = std::min(best, seconds);
        spent += seconds;
    }
    return best;
}

// Sixteen 32-byte sums side by side, so that only memory limits the loop.
#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
uint64_t
read_all(const std::byte* data, size_t bytes) {
    using Words = uint64_t __attribute__((vector_size(32)));
    const auto* words = reinterpret_cast<const Words*>(data);
    Words sums[16] = {};
    for (size_t i = 0; i + 16 <= bytes / sizeof(Words); i += 16) {
#pragma GCC unroll 16
        for (size_t j = 0; j < 16; ++j) sums[j] += words[i + j];
    }
    Words all = {};
    for (const Words& sum : sums) all += sum;
    return all[0] + all[1] + all[2] + all[3];
}

double onednn_gops(int rows, int cols, int n_inputs) {
    const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(cpu);
    const dnnl::memory::desc src({n_inputs, cols}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::ab);
    const dnnl::memory::desc weights({cols, rows}, dnnl::memory::data_type::s8,
                                     dnnl::memory::format_tag::any);
    const dnnl::memory::desc dst({n_inputs, rows}, dnnl::memory::data_type::s32,
                                 dnnl::memory::format_tag::ab);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc desc(cpu, src, weights, dst);
#else
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(src, weights, dst), cpu);
#endif
    dnnl::memory a(desc.src_desc(), cpu), b(desc.weights_desc(), cpu), c(desc.dst_desc(), cpu);
    dnnl::matmul product(desc);
    const double seconds = best_seconds([&] {
        product.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
        stream.wait();
    });
    return 2e-9 * rows * cols * n_inputs / seconds;
}

struct Shape {
    uint32_t rows, cols;
};

void measure(DType dtype, IsaLevel level, Shape shape) {
    ThreadPool pool(1);
    std::mt19937 random(1);
    const std::vector<std::byte> blocks = test::random_blocks(dtype, shape.rows, shape.cols, random);
    const double start = now_seconds();
    Result<PackedMatrix> matrix = test::pack_blocks(dtype, shape.rows, shape.cols, blocks, pool);
    const double pack_seconds = now_seconds() - start;
    if (!matrix.ok()) return;
    const KernelTable table = make_kernel_table(level);
    std::vector<float> x(size_t{512} * shape.cols), out(size_t{512} * shape.rows);
    std::normal_distribution<float> normal;
    for (float& value : x) value = normal(random);
    std::vector<std::byte> scratch(512 * quantized_row_bytes(shape.cols) + 64);
    auto* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    const QuantizedRows rows(aligned, shape.cols);
    Result<AlignedBuffer> unpacked = AlignedBuffer::allocate(shape.cols / kBlockValues * kUnpackedBlockBytes);
    if (!unpacked.ok()) return;
    MatmulOptions options;
    options.scratch = unpacked->data();
    const double quantize_seconds =
        best_seconds([&] { quantize_rows(table, x.data(), shape.cols, 0, 512, rows); }, 0.05);
    const auto product = [&](uint32_t n) {
        return best_seconds([&] {
            if (matrix->dense())
                matmul_dense(table, *matrix, x.data(), shape.cols, 0, n, 0, matrix->n_panels(), out.data(),
                             shape.rows);
            else
                matmul(table, *matrix, rows, 0, n, 0, matrix->n_panels(), out.data(), shape.rows, options);
        });
    };
    volatile uint64_t sink = 0;
    const double read_seconds =
        best_seconds([&] { sink = read_all(matrix->panels(), matrix->size_bytes()); });
    const double bytes = static_cast<double>(matrix->size_bytes());
    const double one = product(1), four = product(4), eight = product(8), many = product(512);
    const double gops = 2e-9 * shape.rows * shape.cols * 512 / many;
    const double onednn = onednn_gops(static_cast<int>(shape.rows), static_cast<int>(shape.cols), 512);
    fmt::print(
        "{:5} {:12} {:6}x{:5} pack {:5.2f} GB/s | read {:5.1f} GB/s, one row {:5.1f} ({:3.0f}%) | 4 rows "
        "x{:4.2f}, 8 rows x{:4.2f} | "
        "512 rows {:6.1f} GOP/s, oneDNN int8 {:6.1f} ({:3.0f}%) | quantize {:4.2f} ns a value\n",
        dtype_info(dtype).name, isa_name(level), shape.rows, shape.cols, 1e-9 * bytes / pack_seconds,
        1e-9 * bytes / read_seconds, 1e-9 * bytes / one, 100 * read_seconds / one, four / one, eight / one,
        gops, onednn, 100 * gops / onednn, 1e9 * quantize_seconds / (512.0 * shape.cols));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string type = argc > 1 ? argv[1] : "all";
    const std::optional<IsaLevel> level = argc > 2 ? parse_isa(argv[2]) : detect_isa();
    if (!level.has_value()) return 1;
    std::vector<Shape> shapes = {{576, 576},   {1536, 576},  {576, 1536},
                                 {49152, 576}, {8960, 1536}, {1536, 8960}};
    if (argc > 4)
        shapes = {{static_cast<uint32_t>(std::atoi(argv[3])), static_cast<uint32_t>(std::atoi(argv[4]))}};
    for (const DType dtype : test::kAllDTypes) {
        if (type != "all" && type != dtype_info(dtype).name) continue;
        for (const Shape shape : shapes) {
            if (shape.cols % dtype_info(dtype).block_elements == 0) measure(dtype, *level, shape);
        }
    }
    return 0;
}
