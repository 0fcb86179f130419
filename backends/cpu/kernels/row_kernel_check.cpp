// A fixed case with whole vectors and a rest, the same numbers for every ISA, compared bit by bit.
#include "cpu/kernels/row_kernel_check.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "cpu/kernels/kernel_choice.h"

namespace takt::cpu {
namespace {

constexpr size_t kWidth = 76;  // four whole vectors and a rest of 12

struct Numbers {
    uint32_t state = 7;
    float next() {
        state = state * 1664525u + 1013904223u;
        return (static_cast<float>(state >> 8) / 8388608.0f - 1.0f) * 6.0f;
    }
};

std::vector<float> numbers(size_t n, uint32_t seed) {
    Numbers source{seed};
    std::vector<float> list(n);
    for (float& x : list) x = source.next();
    return list;
}

using Output = std::vector<float>;

Output run_rms_norm(const RowKernels& rows) {
    Output out(kWidth);
    rows.rms_norm(numbers(kWidth, 1).data(), numbers(kWidth, 2).data(), out.data(), kWidth, 1e-5f);
    return out;
}

Output run_rope(const RowKernels& rows) {
    Output out(2 * kWidth);
    const std::vector<float> in = numbers(kWidth, 1), cosines = numbers(36, 2), sines = numbers(36, 3);
    for (const bool interleaved : {false, true}) {
        rows.rope({in.data(), out.data() + (interleaved ? kWidth : 0), cosines.data(), sines.data(), 2,
                   kWidth / 2, 36, interleaved});
    }
    return out;
}

template <typename Kernel>
Output run_two(Kernel kernel) {
    Output out(kWidth);
    kernel(numbers(kWidth, 1).data(), numbers(kWidth, 2).data(), out.data(), kWidth);
    return out;
}

template <typename Kernel>
Output run_factor(Kernel kernel) {
    Output out(kWidth);
    kernel(numbers(kWidth, 1).data(), 1.7f, out.data(), kWidth);
    return out;
}

Output run_to_half(const RowKernels& rows) {
    uint16_t halves[kWidth];
    rows.to_half(numbers(kWidth, 1).data(), halves, kWidth);
    return Output(halves, halves + kWidth);
}

Output run_argmax(const RowKernels& rows) {
    std::vector<float> in = numbers(kWidth, 1);
    const ArgmaxResult found = rows.argmax(in.data(), kWidth);
    in[70] = INFINITY;
    return {found.highest, static_cast<float>(found.index),
            static_cast<float>(rows.argmax(in.data(), kWidth).finite)};
}

Output run_read(const RowKernels& rows) {
    return {rows.read(numbers(3 * 128 + 5, 1).data(), 3 * 128 + 5)};
}

Output run_to_q8_0(const RowKernels& rows) {
    constexpr size_t kValues = 2 * kKvBlock;
    int8_t elements[kValues];
    uint16_t scales[2];
    rows.to_q8_0(numbers(kValues, 1).data(), elements, scales, kValues);
    Output out(elements, elements + kValues);
    out.insert(out.end(), scales, scales + 2);
    return out;
}

// n elements of a form with the scales behind them.
std::vector<std::byte> elements(const RowKernels& rows, KvForm form, size_t n, uint32_t seed) {
    const std::vector<float> floats = numbers(n, seed);
    std::vector<std::byte> bytes(n * sizeof(float));
    if (form == KvForm::f32) {
        std::memcpy(bytes.data(), floats.data(), bytes.size());
    } else if (form == KvForm::f16) {
        rows.to_half(floats.data(), reinterpret_cast<uint16_t*>(bytes.data()), n);
    } else {
        rows.to_q8_0(floats.data(), reinterpret_cast<int8_t*>(bytes.data()),
                     reinterpret_cast<uint16_t*>(bytes.data() + n), n);
    }
    return bytes;
}

// Queries over a whole tile and a part of one, then merged and finished. Any scale serves any position.
Output run_attention(const RowKernels& rows, KvForm form, uint32_t n_queries, float soft_cap) {
    constexpr uint32_t kDim = 32;
    constexpr size_t kStride = kStateValues + kDim, kElements = size_t{kDim} * kTilePositions;
    const size_t element_bytes = form == KvForm::q8_0 ? 1 : form == KvForm::f16 ? 2 : 4;
    const std::vector<std::byte> keys = elements(rows, form, kElements, 3),
                                 values = elements(rows, form, kElements, 4);
    const std::vector<float> queries = numbers(size_t{n_queries} * kDim, 5);
    std::vector<const float*> starts;
    for (size_t q = 0; q < n_queries; ++q) starts.push_back(queries.data() + q * kDim);
    std::vector<float> states(2 * n_queries * kStride), scores(n_queries * (kTilePositions + kRowLanes)),
        widened(kTilePositions * (2 * kDim + 1));
    AttentionTile tile;
    tile.form = form;
    for (size_t b = 0; b < kTileBlocks; ++b) {
        const size_t first = b * kRowLanes;
        tile.keys[b] = keys.data() + first * element_bytes;
        tile.values[b] = values.data() + first * kDim * element_bytes;
        tile.key_stride[b] = kTilePositions;
        tile.key_scales[b] = reinterpret_cast<const uint16_t*>(keys.data() + kElements) + first;
        tile.value_scales[b] = reinterpret_cast<const uint16_t*>(values.data() + kElements) + first;
    }
    tile.value_stride = tile.key_dim = tile.value_dim = kDim;
    tile.scale = 0.05f;
    tile.soft_cap = soft_cap;
    tile.queries = starts.data();
    tile.n_queries = n_queries;
    tile.state_stride = kStride;
    tile.scores = scores.data();
    tile.widened = widened.data();
    Output out(n_queries * kDim);
    for (size_t q = 0; q < 2 * n_queries; ++q) states[q * kStride + kStateHighest] = -INFINITY;
    for (const uint32_t part : {0u, 1u, 2u}) {  // whole and part into the first states, whole into the second
        tile.states = states.data() + (part == 2 ? n_queries * kStride : 0);
        tile.first = part == 1 ? 5 : 0;
        tile.end = part == 1 ? 39 : kTilePositions;
        rows.attend(tile);
    }
    for (size_t q = 0; q < n_queries; ++q) {
        rows.merge_states(states.data() + q * kStride, states.data() + (n_queries + q) * kStride, kDim);
        rows.finish_state(states.data() + q * kStride, out.data() + q * kDim, kDim);
    }
    return out;
}

// Few queries and, where tiles are widened first, many.
template <KvForm kForm>
Output run_few_and_many(const RowKernels& rows) {
    Output out = run_attention(rows, kForm, 7, 0);
    const Output many = run_attention(rows, kForm, 29, 0);
    out.insert(out.end(), many.begin(), many.end());
    return out;
}

struct Case {
    const char* name;
    Output (*run)(const RowKernels& rows);
};

constexpr Case kCases[] = {
    {"rms_norm", run_rms_norm},
    {"rope", run_rope},
    {"silu_gate", [](const RowKernels& rows) { return run_two(rows.silu_gate); }},
    {"gelu_tanh_gate", [](const RowKernels& rows) { return run_two(rows.gelu_tanh_gate); }},
    {"add", [](const RowKernels& rows) { return run_two(rows.add); }},
    {"scale", [](const RowKernels& rows) { return run_factor(rows.scale); }},
    {"soft_cap", [](const RowKernels& rows) { return run_factor(rows.soft_cap); }},
    {"to_half", run_to_half},
    {"argmax", run_argmax},
    {"read", run_read},
    {"to_q8_0", run_to_q8_0},
    {"attention", run_few_and_many<KvForm::f16>},
    {"attention over q8_0", run_few_and_many<KvForm::q8_0>},
    {"attention over f32", run_few_and_many<KvForm::f32>},
    {"attention with soft cap",
     [](const RowKernels& rows) { return run_attention(rows, KvForm::f16, 7, 3); }},
};

}  // namespace

Status self_test(const RowKernels& rows) {
    const RowKernels scalar = make_kernel_table(IsaLevel::scalar).rows;
    for (const Case& test : kCases) {
        const Output expected = test.run(scalar), got = test.run(rows);
        if (std::memcmp(expected.data(), got.data(), expected.size() * sizeof(float)) != 0) {
            return Status(StatusCode::internal, fmt::format("Kernel {} differs from scalar.", test.name));
        }
    }
    return {};
}

void replace_failing_row_kernels(IsaLevel level, KernelTable& table, std::vector<std::string>& replaced) {
    for (const IsaLevel sibling : available_isa_levels()) {
        if (sibling >= level) continue;
        const Status status = self_test(table.rows);
        if (status.ok()) return;
        table.rows = make_kernel_table(sibling).rows;
        replaced.push_back(
            fmt::format("{} The row kernels of {} take their place.", status.message(), isa_name(sibling)));
    }
}

}  // namespace takt::cpu
