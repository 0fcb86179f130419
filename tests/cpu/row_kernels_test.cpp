// Row kernels of every instruction set against plain math in double, and against each other bit
// by bit.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "cpu/kernels/row_kernel_check.h"
#include "row_kernel_levels.h"
#include "tensor/dequantize.h"

using namespace takt;
using namespace takt::cpu;
using namespace takt::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNan = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kWidths[] = {1, 2, 15, 16, 17, 31, 64, 75, 96, 576, 1000};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

using RunKernel = std::function<void(const RowKernels&, float* out)>;
using Expected = std::function<double(size_t)>;

// Close to `expected` on every level, the same bits on all, and nothing written past the row.
void check_row(size_t n, double tolerance, const RunKernel& run, const Expected& expected) {
    std::vector<float> first;
    for (const RowKernels& rows : all_levels()) {
        std::vector<float> out(n + 16, 123.0f);
        run(rows, out.data());
        for (size_t i = 0; i < n; ++i) {
            const double want = expected(i);
            if (!(std::abs(out[i] - want) <= tolerance * (std::abs(want) + 1)))
                FAIL_CHECK("value " << i << " of " << n << " is " << out[i] << ", must be " << want);
        }
        CHECK(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(n), out.end(),
                          [](float x) { return x == 123.0f; }));
        if (first.empty()) first = out;
        CHECK(same_bits(out, first));
    }
}

}  // namespace

TEST_CASE("row kernels of every instruction set pass their self-test, and a wrong one doesn't") {
    for (const IsaLevel level : available_isa_levels())
        CHECK(takt::cpu::self_test(make_kernel_table(level).rows).ok());
    KernelTable table = make_kernel_table(available_isa_levels().front());
    table.rows.silu_gate = table.rows.gelu_tanh_gate;
    const Status status = self_test(table.rows);
    REQUIRE_FALSE(status.ok());
    CHECK(status.message().find("silu_gate") != std::string::npos);
    if (available_isa_levels().size() < 2) return;
    std::vector<std::string> replaced;
    replace_failing_row_kernels(available_isa_levels().front(), table, replaced);
    CHECK(replaced.size() == 1);
    CHECK(self_test(table.rows).ok());
}

TEST_CASE("rms_norm divides by the root of the mean square") {
    for (const size_t n : kWidths) {
        const std::vector<float> in = random_floats(n, 3, 1), weight = random_floats(n, 2, 2);
        double sum = 0;
        for (const float x : in) sum += static_cast<double>(x) * x;
        const double rms = std::sqrt(sum / static_cast<double>(n) + 1e-5);
        check_row(
            n, 5e-7,
            [&](const RowKernels& rows, float* out) {
                rows.rms_norm(in.data(), weight.data(), out, n, 1e-5f);
            },
            [&](size_t i) { return in[i] / rms * weight[i]; });
    }
}

TEST_CASE("gated activations hold over the whole range, far into the flat parts") {
    for (const float size : {0.01f, 1.0f, 12.0f, 200.0f}) {
        for (const size_t n : kWidths) {
            const std::vector<float> gate = random_floats(n, size, 3), up = random_floats(n, 2, 4);
            check_row(
                n, 1e-6,
                [&](const RowKernels& rows, float* out) { rows.silu_gate(gate.data(), up.data(), out, n); },
                [&](size_t i) { return gate[i] / (1 + std::exp(-static_cast<double>(gate[i]))) * up[i]; });
            check_row(
                n, 1e-6,
                [&](const RowKernels& rows, float* out) {
                    rows.gelu_tanh_gate(gate.data(), up.data(), out, n);
                },
                [&](size_t i) {
                    const double x = gate[i], u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
                    return 0.5 * x * (1 + std::tanh(u)) * up[i];
                });
        }
    }
}

TEST_CASE("add, scale and soft_cap of a row") {
    for (const size_t n : kWidths) {
        const std::vector<float> a = random_floats(n, 40, 5), b = random_floats(n, 9, 6);
        check_row(
            n, 0, [&](const RowKernels& rows, float* out) { rows.add(a.data(), b.data(), out, n); },
            [&](size_t i) { return a[i] + b[i]; });
        check_row(
            n, 0, [&](const RowKernels& rows, float* out) { rows.scale(a.data(), 0.3f, out, n); },
            [&](size_t i) { return a[i] * 0.3f; });
        check_row(
            n, 5e-7, [&](const RowKernels& rows, float* out) { rows.soft_cap(a.data(), 30.0f, out, n); },
            [&](size_t i) { return 30 * std::tanh(static_cast<double>(a[i]) / 30); });
    }
}

TEST_CASE("a NaN or an infinity goes through every row kernel and never becomes a number by itself") {
    for (const RowKernels& rows : all_levels()) {
        for (const float bad : {kNan, kInfinity}) {
            std::vector<float> in = random_floats(40, 1, 7), ones(40, 1.0f), out(40);
            in[21] = bad;
            rows.rms_norm(in.data(), ones.data(), out.data(), 40, 1e-5f);
            CHECK_FALSE(std::isfinite(out[21]));
            rows.silu_gate(in.data(), ones.data(), out.data(), 40);
            CHECK_FALSE(std::isfinite(out[21]));
            rows.gelu_tanh_gate(in.data(), ones.data(), out.data(), 40);
            CHECK_FALSE(std::isfinite(out[21]));
            CHECK(std::isfinite(out[20]));
        }
        float in[2] = {kNan, 1}, out[2];
        rows.soft_cap(in, 2, out, 2);
        CHECK(std::isnan(out[0]));
    }
}

TEST_CASE("rope rotates pairs and halves, in place too, and leaves the rest of a head alone") {
    constexpr uint32_t kHeadDim = 40, kHeads = 3;
    for (const uint32_t rotated : {2u, 24u, 32u, 40u}) {
        for (const bool interleaved : {true, false}) {
            const std::vector<float> in = random_floats(kHeads * kHeadDim, 3, 8);
            std::vector<float> cosines(rotated), sines(rotated), angles(rotated / 2);
            for (uint32_t i = 0; i < rotated / 2; ++i) {
                angles[i] = 0.3f + static_cast<float>(i);
                const uint32_t a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + rotated / 2;
                cosines[a] = cosines[b] = std::cos(angles[i]);
                sines[b] = std::sin(angles[i]);
                sines[a] = -sines[b];
            }
            const auto run = [&](const RowKernels& rows, float* out) {
                rows.rope(
                    {in.data(), out, cosines.data(), sines.data(), kHeads, kHeadDim, rotated, interleaved});
                std::vector<float> same = in;
                rows.rope({same.data(), same.data(), cosines.data(), sines.data(), kHeads, kHeadDim, rotated,
                           interleaved});
                CHECK(std::equal(same.begin(), same.end(), out));
            };
            check_row(in.size(), 1e-6, run, [&](size_t i) -> double {
                const size_t head = i / kHeadDim * kHeadDim, d = i % kHeadDim, half = rotated / 2;
                if (d >= rotated) return in[i];
                const size_t pair = interleaved ? d / 2 : d % half;
                const size_t a = head + (interleaved ? 2 * pair : pair),
                             b = head + (interleaved ? 2 * pair + 1 : pair + half);
                const double c = std::cos(angles[pair]), s = std::sin(angles[pair]);
                return i == a ? in[a] * c - in[b] * s : in[a] * s + in[b] * c;
            });
        }
    }
}

TEST_CASE("to_half rounds like the scalar conversion") {
    std::vector<float> in = random_floats(77, 100, 9);
    in[3] = 1e-7f;
    in[5] = 70000.0f;
    in[76] = kNan;
    for (const RowKernels& rows : all_levels()) {
        std::vector<uint16_t> out(80, 0xabcd);
        rows.to_half(in.data(), out.data(), in.size());
        for (size_t i = 0; i + 1 < in.size(); ++i) CHECK(out[i] == f32_to_f16(in[i]));
        CHECK(std::isnan(f16_to_f32(out[76])));
        CHECK(out[77] == 0xabcd);
    }
}

TEST_CASE("read adds the same bits on every level and nothing beyond whole groups") {
    const std::vector<float> x = random_floats(1024, 6, 10);
    const RowKernels scalar = all_levels().front();
    for (const RowKernels& rows : all_levels()) {
        for (const size_t n : {0u, 127u, 128u, 300u, 1024u}) {
            CHECK(rows.read(x.data(), n) == scalar.read(x.data(), n / 128 * 128));
            double sum = 0;
            for (size_t i = 0; i < n / 128 * 128; ++i) sum += x[i];
            CHECK(std::abs(rows.read(x.data(), n) - sum) < 1e-3);
        }
    }
}

TEST_CASE(
    "to_q8_0 keeps every value within half a step of its block's scale, and what isn't finite isn't lost") {
    std::vector<float> in = random_floats(192, 3, 14);
    std::fill(in.begin() + 32, in.begin() + 64, 0.0f);
    for (size_t i = 64; i < 96; ++i) in[i] *= 1e-6f;    // a scale below float16's normal range
    for (size_t i = 96; i < 128; ++i) in[i] *= 1e-12f;  // one that becomes 0
    in[130] = kNan;
    in[170] = -kInfinity;
    std::vector<int8_t> first;
    for (const RowKernels& rows : all_levels()) {
        std::vector<int8_t> out(200, 77);
        std::vector<uint16_t> scales(7, 0xabcd);
        rows.to_q8_0(in.data(), out.data(), scales.data(), in.size());
        for (size_t i = 0; i < 128; ++i) {
            const float scale = f16_to_f32(scales[i / 32]);
            CHECK(std::abs(out[i] * scale - in[i]) <= (i < 64 ? 0.5001f * scale : 6e-8f * 127));
        }
        for (size_t block = 0; block < 2; ++block) {
            const float largest =
                std::abs(*std::max_element(in.begin() + block * 32, in.begin() + block * 32 + 32,
                                           [](float a, float b) { return std::abs(a) < std::abs(b); }));
            CHECK(f16_to_f32(scales[block]) == Approx(largest / 127).epsilon(5e-4));
        }
        CHECK_FALSE(std::isfinite(f16_to_f32(scales[4])));
        CHECK_FALSE(std::isfinite(f16_to_f32(scales[5])));
        CHECK(out[192] == 77);
        CHECK(scales[6] == 0xabcd);
        out.resize(128);
        if (first.empty()) first = out;
        CHECK(out == first);
    }
}

TEST_CASE("argmax finds the lowest of equals and sees every value that isn't finite") {
    for (const RowKernels& rows : all_levels()) {
        for (const size_t n : {1u, 7u, 16u, 40u, 100u}) {
            for (size_t at = 0; at < n; ++at) {
                std::vector<float> x = random_floats(n, 5, 10);
                x[at] = 9;
                x[n - 1] = 9;
                const ArgmaxResult found = rows.argmax(x.data(), n);
                CHECK(found.index == at);
                CHECK(found.highest == 9);
                CHECK(found.finite);
                for (const float bad : {kNan, kInfinity, -kInfinity}) {
                    x[at] = bad;
                    CHECK_FALSE(rows.argmax(x.data(), n).finite);
                }
            }
        }
    }
}
