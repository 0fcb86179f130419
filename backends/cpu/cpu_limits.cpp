// Each thread reads its own part of the working set, all at once for a fixed time.
#include "cpu/cpu_limits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "base/os.h"
#include "cpu/onednn_rates.h"

namespace takt::cpu {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSlot{40};
constexpr size_t kSlots = 5;
constexpr uint64_t kPiece = 64 << 10;  // bytes between two looks at the clock
constexpr uint64_t kLeastBytes = 1 << 20;

// Bytes a second of one thread that goes over its part again and again.
double read_rate(const KernelTable& kernels, std::span<const float> part, std::atomic<float>& sink) {
    const size_t piece = kPiece / sizeof(float);
    const auto start = SteadyTime::now();
    const auto end = start + kSlot;
    auto now = start;
    uint64_t bytes = 0;
    size_t at = 0;
    float sum = 0;
    do {
        const size_t n = std::min(piece, part.size() - at);
        sum += kernels.rows.read(part.data() + at, n);
        bytes += n * sizeof(float);
        at = at + n == part.size() ? 0 : at + n;
        now = SteadyTime::now();
    } while (now < end);
    sink.store(sum, std::memory_order_relaxed);
    return static_cast<double>(bytes) / std::chrono::duration<double>(now - start).count();
}

double median_read_rate(const KernelTable& kernels, ThreadPool& pool, std::span<const float> words) {
    const uint32_t n_threads = pool.n_threads();
    const size_t words_a_thread = words.size() / n_threads;
    std::atomic<float> sink{0};
    std::vector<double> rates(n_threads);
    std::array<double, kSlots> sums{};
    for (double& sum : sums) {
        pool.run(n_threads, [&](uint32_t task, uint32_t) {
            rates[task] = read_rate(kernels, words.subspan(task * words_a_thread, words_a_thread), sink);
        });
        for (const double rate : rates) sum += rate;
    }
    std::ranges::sort(sums);
    return sums[kSlots / 2];
}

Result<double> measure_reads(const KernelTable& kernels, ThreadPool& pool, uint64_t working_set_bytes) {
    const uint64_t bytes = std::max(working_set_bytes, kLeastBytes * pool.n_threads());
    Result<os::Mapping> buffer = os::map_zeros(bytes);  // huge pages, as the weights have
    if (!buffer.ok()) return buffer.status().with_context("Measuring reads");
    const std::span<float> words(reinterpret_cast<float*>(buffer->data()), bytes / sizeof(float));
    // Pages that were never written are all the same one, which would stay in the cache.
    std::ranges::fill(words, 1.0f);
    return median_read_rate(kernels, pool, words);
}

}  // namespace

Result<DeviceLimits> measure_limits(const KernelTable& kernels, ThreadPool& pool, uint64_t working_set_bytes,
                                    uint32_t n_rows, ProductShape product) {
    DeviceLimits limits;
    if (working_set_bytes != 0) {
        const Result<double> rate = measure_reads(kernels, pool, working_set_bytes);
        if (!rate.ok()) return rate.status();
        limits.read_bytes_per_second = *rate;
    }
    if (n_rows == 0 || product.outputs == 0 || product.inputs == 0) return limits;
    limits.int8_operations_per_second = onednn_rate(pool, ProductType::u8_by_s8, n_rows, product);
    limits.float_operations_per_second = onednn_rate(pool, ProductType::float32, n_rows, product);
    return limits;
}

}  // namespace takt::cpu
