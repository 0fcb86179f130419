// One primitive a thread, each over its own rows, all at once for a fixed time.
#include "cpu/onednn_rates.h"

#if defined(TAKT_HAVE_ONEDNN)
#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "base/aligned_buffer.h"
#include "cpu/openmp_threads.h"
#endif

namespace takt::cpu {

#if defined(TAKT_HAVE_ONEDNN)
namespace {

using Clock = std::chrono::steady_clock;
using dnnl::memory;

// Long enough that a thread's late start doesn't count, short enough that five of them find a quiet moment.
constexpr std::chrono::milliseconds kSlot{40};
constexpr int kSlots = 5;

struct ThreadProduct {
    ThreadProduct(ProductType type, memory::dim rows, memory::dim inputs, memory::dim outputs)
        : cpu(dnnl::engine::kind::cpu, 0), stream(cpu) {
        const bool whole = type == ProductType::u8_by_s8;
        const memory::desc x({rows, inputs}, whole ? memory::data_type::u8 : memory::data_type::f32,
                             memory::format_tag::ab);
        const memory::desc w({inputs, outputs}, whole ? memory::data_type::s8 : memory::data_type::f32,
                             memory::format_tag::any);
        const memory::desc y({rows, outputs}, whole ? memory::data_type::s32 : memory::data_type::f32,
                             memory::format_tag::ab);
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::matmul::primitive_desc desc(cpu, x, w, y);
#else
        const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(x, w, y), cpu);
#endif
        product = dnnl::matmul(desc);
        arguments = {{DNNL_ARG_SRC, zeros(desc.src_desc())},
                     {DNNL_ARG_WEIGHTS, zeros(desc.weights_desc())},
                     {DNNL_ARG_DST, zeros(desc.dst_desc())}};
    }

    memory zeros(const memory::desc& desc) {
        Result<AlignedBuffer> buffer = AlignedBuffer::allocate(desc.get_size());
        if (!buffer.ok()) throw std::bad_alloc();
        buffers.push_back(std::move(*buffer));
        return memory(desc, cpu, buffers.back().data());
    }
    void run() {
        product.execute(stream, arguments);
        stream.wait();
    }

    dnnl::engine cpu;
    dnnl::stream stream;
    dnnl::matmul product;
    std::vector<AlignedBuffer> buffers;
    std::unordered_map<int, memory> arguments;
};

// Products per second of one thread.
double products_per_second(ThreadProduct& product) {
    const auto start = Clock::now();
    const auto end = start + kSlot;
    int n = 0;
    auto now = start;
    do {
        product.run();
        ++n;
        now = Clock::now();
    } while (now < end);
    return n / std::chrono::duration<double>(now - start).count();
}

}  // namespace

std::optional<double> onednn_rate(ThreadPool& pool, ProductType type, uint32_t n_rows, ProductShape product) {
    const uint32_t n_threads = std::min(pool.n_threads(), std::max(n_rows, 1u));
    const uint32_t rows = (n_rows + n_threads - 1) / n_threads;
    std::atomic<bool> failed{false};
    std::vector<double> rates(n_threads), sums;
    try {
        std::vector<std::unique_ptr<ThreadProduct>> products;
        for (uint32_t i = 0; i < n_threads; ++i) {
            const OneOpenMpThread one_thread;
            products.push_back(std::make_unique<ThreadProduct>(type, rows, product.inputs, product.outputs));
            products.back()->run();
        }
        for (int slot = 0; slot < kSlots; ++slot) {
            pool.run(n_threads, [&](uint32_t task, uint32_t) {
                try {
                    const OneOpenMpThread one_thread;
                    rates[task] = products_per_second(*products[task]);
                } catch (...) {
                    failed.store(true, std::memory_order_relaxed);
                }
            });
            double sum = 0;
            for (const double rate : rates) sum += rate;
            sums.push_back(sum);
        }
    } catch (const std::exception&) {
        return std::nullopt;
    }
    if (failed.load(std::memory_order_relaxed)) return std::nullopt;
    std::ranges::sort(sums);
    return 2.0 * rows * product.outputs * product.inputs * sums[kSlots / 2];
}
#else
std::optional<double> onednn_rate(ThreadPool&, ProductType, uint32_t, ProductShape) {
    return std::nullopt;
}
#endif

}  // namespace takt::cpu
