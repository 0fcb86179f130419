// Loading with many threads: the same bytes as one matrix at a time, and every way a load can end early.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "cpu/cpu_weights.h"
#include "cpu/weight_loader.h"
#include "loader_program.h"
#include "tensor/dequantize.h"

using namespace takt;
using namespace takt::cpu;
using namespace takt::test;

namespace {

std::vector<std::byte> loaded(const Program& program, const WeightSource& source, uint32_t n_threads,
                              const LoadProgress& progress = {}) {
    ThreadPool pool(n_threads);
    const auto weights = CpuWeights::load(program, source, pool, {progress, {}});
    INFO(weights.status().message());
    REQUIRE(weights.ok());
    const auto block = dynamic_cast<const CpuWeights&>(**weights).block();
    return {block.begin(), block.end()};
}

Status failure(const Program& program, const WeightSource& source, const LoadProgress& progress = {}) {
    ThreadPool pool(4);
    const auto weights = CpuWeights::load(program, source, pool, {progress, {}});
    REQUIRE_FALSE(weights.ok());
    return weights.status();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A line of /proc/self/status in bytes.
uint64_t memory_line(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1)) * 1024;
    }
    return 0;
}
#endif

}  // namespace

TEST_CASE("weights loaded by many threads are bit for bit those of one matrix packed at a time") {
    const auto program = loader_program();
    const RandomWeights source(*program, 1);
    const WeightLayout layout = layout_weights(*program).value();
    const std::vector<std::byte> got = loaded(*program, source, 4);
    REQUIRE(got.size() == layout.total_bytes);
    CHECK(loaded(*program, source, 1) == got);
    CHECK(loaded(*program, source, 7) == got);
    ThreadPool pool(1);
    for (size_t i = 0; i < program->weights.size(); ++i) {
        const WeightDecl& weight = program->weights[i];
        const WeightPlace& place = layout.places[i];
        INFO(weight.name);
        REQUIRE((place.matrix || place.vector));
        const uint64_t stride = row_bytes(weight.dtype, weight.columns);
        if (place.matrix) {
            const auto read = [&](uint64_t first_row, uint32_t, std::span<std::byte> out) {
                return source.read(weight.name, first_row * stride, out);
            };
            const PackedMatrix alone =
                PackedMatrix::pack(weight.dtype, weight.rows, weight.columns, read, pool).value();
            CHECK(std::memcmp(got.data() + place.matrix_offset, alone.panels(), alone.size_bytes()) == 0);
        }
        if (place.vector) {
            std::vector<std::byte> bytes(stride * weight.rows);
            REQUIRE(source.read(weight.name, 0, bytes).ok());
            std::vector<float> values(size_t{weight.rows} * weight.columns);
            dequantize_row(weight.dtype, bytes, values);
            CHECK(std::memcmp(got.data() + place.vector_offset, values.data(), values.size() * 4) == 0);
        }
    }
}

TEST_CASE("a load holds what was planned, and reads every byte of the source once") {
    const auto program = loader_program();
    ScriptedWeights source(*program, 2);
    std::atomic<uint64_t> n_reads{0};
    source.before_read_ = [&](std::string_view, uint64_t) {
        ++n_reads;
        return Status();
    };
    uint64_t last = 0, expected = 0;
    for (const WeightDecl& weight : program->weights)
        expected += row_bytes(weight.dtype, weight.columns) * weight.rows;
    std::vector<std::thread::id> threads;
    const auto progress = [&](uint64_t done, uint64_t total) {
        CHECK(total == expected);
        CHECK(done > last);
        last = done;
        threads.push_back(std::this_thread::get_id());
        return true;
    };
    CHECK(loaded(*program, source, 4, progress).size() == CpuWeights::planned_bytes(*program).value());
    CHECK(last == expected);
    CHECK(n_reads > 40);  // pieces, not whole matrices
    CHECK(std::ranges::all_of(threads, [](std::thread::id id) { return id == std::this_thread::get_id(); }));
}

TEST_CASE("a load that its progress stops is cancelled, and nothing reads afterwards") {
    const auto program = loader_program();
    for (const uint64_t stop_at : {uint64_t{1}, uint64_t{3'000'000}, uint64_t{7'000'000}}) {
        ScriptedWeights source(*program, 3);
        std::atomic<int> reading{0};
        std::atomic<bool> returned{false}, late{false};
        source.before_read_ = [&](std::string_view, uint64_t) {
            if (returned) late = true;
            ++reading;
            std::this_thread::yield();
            --reading;
            return Status();
        };
        uint64_t calls_after = 0;
        bool stopped = false;
        const Status status = failure(*program, source, [&](uint64_t done, uint64_t) {
            if (stopped) ++calls_after;
            stopped = stopped || done >= stop_at;
            return !stopped;
        });
        returned = true;
        CHECK(status.code() == StatusCode::cancelled);
        CHECK(calls_after == 0);
        CHECK(reading == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        CHECK_FALSE(late);
    }
}

TEST_CASE("what a progress callback throws comes out of the load") {
    const auto program = loader_program();
    const RandomWeights source(*program, 4);
    ThreadPool pool(4);
    const LoadProgress throws = [](uint64_t, uint64_t) -> bool { throw std::runtime_error("enough"); };
    CHECK_THROWS_WITH(CpuWeights::load(*program, source, pool, {throws, {}}), "enough");
    CHECK(CpuWeights::load(*program, source, pool, {}).ok());  // the pool is as it was
}

TEST_CASE("a source that ends while it is read fails the load with its own sentence") {
    const auto program = loader_program();
    for (const char* where : {"table", "norm", "q4_k.up", "bf16.down", "f16.bias"}) {
        ScriptedWeights source(*program, 5);
        source.before_read_ = [&](std::string_view weight, uint64_t) {
            if (weight != where) return Status();
            return Status(StatusCode::file_truncated, "the file was truncated at " + std::string(where));
        };
        const Status status = failure(*program, source);
        CHECK(status.code() == StatusCode::file_truncated);
        CHECK(status.message() == "the file was truncated at " + std::string(where));
    }
}

TEST_CASE("no type's packed form is much larger than its source") {
    for (const DType dtype : {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::q4_k,
                              DType::q5_k, DType::q6_k, DType::f32, DType::f16, DType::bf16}) {
        INFO(dtype_info(dtype).name);
        for (const uint32_t rows : {256u, 1000u, 49152u}) {
            const double source = static_cast<double>(row_bytes(dtype, 1536)) * rows;
            CHECK(static_cast<double>(PackedMatrix::packed_bytes(dtype, rows, 1536).value()) <=
                  1.05 * source);
        }
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("the peak of a load is the packed weights and a window a thread") {
    const auto program = loader_program();
    const RandomWeights source(*program, 6);
    constexpr uint64_t kThreads = 4, kWindow = 300 << 10;
    ThreadPool pool(kThreads);
    const uint64_t planned = CpuWeights::planned_bytes(*program).value();
    REQUIRE(planned > 8'000'000);
    if (std::ofstream reset("/proc/self/clear_refs"); !(reset << 5 << std::flush)) {
        WARN("the peak of memory can't be reset here");
        return;
    }
    const uint64_t before = memory_line("VmRSS");
    const auto weights = CpuWeights::load(*program, source, pool, {});
    REQUIRE(weights.ok());
    const uint64_t grown = memory_line("VmHWM") - before;
    CHECK(grown > planned / 2);  // it was measured at all
    CHECK(grown < planned + kThreads * kWindow + 2'000'000);
}
#endif
