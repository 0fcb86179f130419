// Mixtures of experts: rows are gathered by expert, so that an expert's weights are read once for all its
// rows.
#include <algorithm>

#include "cpu/cpu_executable.h"

namespace takt::cpu {
namespace {

constexpr uint32_t kRowsATask = 8;

}  // namespace

// One matrix of every expert over the rows gathered for it.
struct CpuExecutable::ExpertProduct {
    WeightId weight, bias;
    bool dense;  // in holds rows of float, not their quantized form
    std::byte* in;
    float* out;  // [gathered rows][outputs of an expert]
};

void CpuExecutable::run_step(const ExpertStep& step) {
    const uint32_t rows = n_rows(step.domain);
    if (rows == 0) return;
    const ExpertFfnOp& op = step.op;
    const uint32_t ffn = program_->weight(op.down).columns;
    ExpertRows& buffers = memory_.expert_rows();
    sort_by_expert(step);
    gather_rows(step);
    float *gate = buffers.gate.as<float>().data(), *up = buffers.up.as<float>().data();
    multiply_experts({op.gate, op.gate_bias, step.dense_in, buffers.in.data(), gate}, op.n_experts);
    multiply_experts({op.up, op.up_bias, step.dense_in, buffers.in.data(), up}, op.n_experts);
    const auto n = static_cast<uint32_t>(buffers.n_gathered);
    parallel(ceil_div(n, kRowsATask), n > 1, [&](uint32_t task, uint32_t) {
        for (uint32_t i = task * kRowsATask; i < std::min(n, (task + 1) * kRowsATask); ++i) {
            float* row = gate + size_t{i} * ffn;
            activate(op.activation, row, up + size_t{i} * ffn, row, ffn);
            if (!step.dense_down) {
                const QuantizedRows out(buffers.hidden.data(), ffn);
                kernels_.quantize_row(row, out.layout, out.row(i));
            }
        }
    });
    std::byte* hidden = step.dense_down ? buffers.gate.data() : buffers.hidden.data();
    multiply_experts({op.down, op.down_bias, step.dense_down, hidden, buffers.down.as<float>().data()},
                     op.n_experts);
    sum_experts(step);
}

// begins: of each expert's rows among the gathered ones; place: where choice i of a row was put.
void CpuExecutable::sort_by_expert(const ExpertStep& step) {
    const uint32_t rows = n_rows(step.domain), n_used = program_->value(step.op.routes).width / 2;
    const Rows routes = memory_.rows(step.op.routes);
    ExpertRows& buffers = memory_.expert_rows();
    const std::span<uint32_t> begins = buffers.begins.as<uint32_t>().first(size_t{step.op.n_experts} + 1),
                              places = buffers.places.as<uint32_t>();
    std::ranges::fill(begins, 0u);
    const auto expert_of = [&](uint32_t row, uint32_t i) {
        return static_cast<uint32_t>(routes.row(row)[i]);
    };
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t i = 0; i < n_used; ++i) ++begins[expert_of(row, i) + 1];
    }
    for (size_t e = 1; e < begins.size(); ++e) begins[e] += begins[e - 1];
    // Each expert's begin moves to its end while its rows are placed, which is the next one's begin.
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t i = 0; i < n_used; ++i) places[size_t{row} * n_used + i] = begins[expert_of(row, i)]++;
    }
    for (size_t e = begins.size() - 1; e > 0; --e) begins[e] = begins[e - 1];
    begins[0] = 0;
    buffers.n_gathered = size_t{rows} * n_used;
}

void CpuExecutable::gather_rows(const ExpertStep& step) {
    const uint32_t rows = n_rows(step.domain), n_used = program_->value(step.op.routes).width / 2;
    ExpertRows& buffers = memory_.expert_rows();
    const std::span<const uint32_t> places = buffers.places.as<uint32_t>();
    const uint32_t width = program_->value(step.op.in).width;
    const size_t bytes = step.dense_in ? width * sizeof(float) : quantized_row_bytes(width);
    parallel(ceil_div(rows, kRowsATask), rows > kRowsATask, [&](uint32_t task, uint32_t) {
        for (uint32_t row = task * kRowsATask; row < std::min(rows, (task + 1) * kRowsATask); ++row) {
            const auto* from = step.dense_in
                                   ? reinterpret_cast<const std::byte*>(memory_.rows(step.op.in).row(row))
                                   : memory_.quantized(step.op.in).row(row);
            for (uint32_t i = 0; i < n_used; ++i)
                std::copy_n(from, bytes, buffers.in.data() + places[size_t{row} * n_used + i] * bytes);
        }
    });
}

void CpuExecutable::multiply_experts(const ExpertProduct& product, uint32_t n_experts) {
    const PackedMatrix& matrix = weights_->matrix(product.weight);
    const ExpertRows& buffers = memory_.expert_rows();
    const std::span<const uint32_t> begins = buffers.begins.as<uint32_t>();
    const uint32_t n_out = matrix.rows() / n_experts, n_panels = n_out / kPanelRows;
    uint32_t n_active = 0;
    for (uint32_t e = 0; e < n_experts; ++e) n_active += begins[e + 1] > begins[e];
    const uint32_t groups =
        std::clamp(ceil_div(kTasksAThread * pool_.n_active(), std::max(1u, n_active)), 1u, n_panels);
    const uint32_t panels_a_task = ceil_div(n_panels, groups);
    parallel(n_experts * groups, true, [&](uint32_t task, uint32_t worker) {
        const uint32_t expert = task / groups, first = task % groups * panels_a_task,
                       end = std::min(n_panels, first + panels_a_task);
        const uint32_t first_row = begins[expert], rows = begins[expert + 1] - first_row;
        if (rows == 0 || first >= end) return;
        const MatmulOptions options{weights_->vector(product.bias), false, memory_.unpacked(worker), nullptr};
        // The kernels count outputs from the start of the matrix.
        float* out = product.out - size_t{expert} * n_out;
        if (product.dense) {
            matmul_dense(kernels_, matrix, reinterpret_cast<const float*>(product.in), matrix.cols(),
                         first_row, rows, expert * n_panels + first, end - first, out, n_out, options);
        } else {
            matmul(kernels_, matrix, QuantizedRows(product.in, matrix.cols()), first_row, rows,
                   expert * n_panels + first, end - first, out, n_out, options);
        }
    });
}

// In the order of a row's choices.
void CpuExecutable::sum_experts(const ExpertStep& step) {
    const uint32_t rows = n_rows(step.domain), n_used = program_->value(step.op.routes).width / 2;
    const Rows routes = memory_.rows(step.op.routes), out = memory_.rows(step.op.out);
    const uint32_t width = program_->value(step.op.out).width;
    ExpertRows& buffers = memory_.expert_rows();
    const std::span<const uint32_t> places = buffers.places.as<uint32_t>();
    parallel(ceil_div(rows, kRowsATask), rows > kRowsATask, [&](uint32_t task, uint32_t) {
        for (uint32_t row = task * kRowsATask; row < std::min(rows, (task + 1) * kRowsATask); ++row) {
            const float* weights = routes.row(row) + n_used;
            for (uint32_t i = 0; i < n_used; ++i) {
                float* part =
                    buffers.down.as<float>().data() + size_t{places[size_t{row} * n_used + i]} * width;
                kernels_.rows.scale(part, weights[i], part, width);
                if (i == 0) {
                    std::copy_n(part, width, out.row(row));
                } else {
                    kernels_.rows.add(out.row(row), part, out.row(row), width);
                }
            }
        }
    });
}

}  // namespace takt::cpu
