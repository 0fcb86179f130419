// Products over packed panels: a task is some panels of one matrix for some rows.
#include <algorithm>

#include "cpu/cpu_executable.h"
#include "cpu/onednn_matmul.h"

namespace takt::cpu {
namespace {

// Rows below which a product isn't cut by rows: every cut reads the weights again.
constexpr uint32_t kLeastRows = 48;

}  // namespace

// Panels go in pairs, the width of a kernel's tile.
CpuExecutable::Cut CpuExecutable::make_cut(uint32_t n_panels, uint32_t rows, uint32_t n_threads,
                                           uint32_t most_panels) {
    const uint32_t wanted = kTasksAThread * n_threads;
    uint32_t panels = std::max(2u, ceil_div(n_panels, wanted));
    panels = std::min(panels + panels % 2, most_panels);
    const uint32_t groups = ceil_div(n_panels, panels);
    uint32_t parts = groups >= wanted ? 1 : std::min(ceil_div(wanted, groups), rows / kLeastRows);
    parts = std::max(parts, 1u);
    const uint32_t rows_a_task = std::max(1u, ceil_div(rows, parts));
    return {panels, rows_a_task, groups, ceil_div(rows, rows_a_task)};
}

void CpuExecutable::multiply(const Product& product, RowRange rows, RowRange panels, float* out,
                             size_t out_stride, uint32_t worker, const std::byte* next) {
    const PackedMatrix& matrix = weights_->matrix(product.op.weight);
    const MatmulOptions options{weights_->vector(product.op.bias), product.accumulate,
                                memory_.unpacked(worker), next};
    const uint32_t n_rows_here = rows.end - rows.first, n_panels = panels.end - panels.first;
    if (product.dense) {
        const Rows in = memory_.rows(product.op.in);
        const uint32_t onednn_rows = options_.deterministic ? 0 : onednn_least_rows(level_, matrix.kind());
        if (onednn_rows != 0 && n_rows_here >= onednn_rows) {
            return onednn_multiply(kernels_, matrix, in.data, in.stride, rows.first, n_rows_here,
                                   panels.first, n_panels, out, out_stride, options,
                                   memory_.onednn_scratch(worker));
        }
        matmul_dense(kernels_, matrix, in.data, in.stride, rows.first, n_rows_here, panels.first, n_panels,
                     out, out_stride, options);
    } else {
        matmul(kernels_, matrix, memory_.quantized(product.op.in), rows.first, n_rows_here, panels.first,
               n_panels, out, out_stride, options);
    }
}

uint32_t CpuExecutable::n_panels(const Product& product) const {
    return weights_->matrix(product.op.weight).n_panels();
}

CpuExecutable::Cut CpuExecutable::cut(const ProductStep& step) const {
    uint32_t panels = 0, n_groups = 0;
    for (const Product& product : step.products) panels += n_panels(product);
    Cut parts = make_cut(panels, n_rows(step.domain), pool_.n_active(), ~1u);
    for (const Product& product : step.products) n_groups += ceil_div(n_panels(product), parts.panels_a_task);
    parts.n_groups = n_groups;
    return parts;
}

CpuExecutable::Cut CpuExecutable::cut(const GatedStep& step) const {
    return make_cut(n_panels(step.gate), n_rows(step.domain), pool_.n_active(), kGatedPanels);
}

CpuExecutable::Task CpuExecutable::task(const ProductStep& step, const Cut& parts, uint32_t index) const {
    const uint32_t rows = n_rows(step.domain), first_row = index / parts.n_groups * parts.rows_a_task;
    uint32_t group = index % parts.n_groups;
    const Product* product = step.products.data();
    for (uint32_t groups; group >= (groups = ceil_div(n_panels(*product), parts.panels_a_task)); ++product) {
        group -= groups;
    }
    const uint32_t first = group * parts.panels_a_task;
    return {product,
            {first_row, std::min(rows, first_row + parts.rows_a_task)},
            {first, std::min(n_panels(*product), first + parts.panels_a_task)}};
}

CpuExecutable::Task CpuExecutable::task(const GatedStep& step, const Cut& parts, uint32_t index) const {
    const uint32_t rows = n_rows(step.domain), first = index % parts.n_groups * parts.panels_a_task,
                   first_row = index / parts.n_groups * parts.rows_a_task;
    return {&step.gate,
            {first_row, std::min(rows, first_row + parts.rows_a_task)},
            {first, std::min(n_panels(step.gate), first + parts.panels_a_task)}};
}

const std::byte* CpuExecutable::weights_of(const Task& task) const {
    const PackedMatrix& matrix = weights_->matrix(task.product->op.weight);
    return matrix.panels() + task.panels.first * matrix.layout().panel_bytes;
}

// What a worker reads after a task: its next one, or its first of the next step that multiplies.
template <typename ProductsOrGated>
const std::byte* CpuExecutable::weights_after(const ProductsOrGated& step, const Cut& parts, uint32_t index,
                                              uint32_t worker) const {
    const uint32_t n_workers = pool_.n_active();
    if (worker >= n_workers) return nullptr;
    if (index + 1 < ThreadPool::share(parts.n_tasks(), worker, n_workers).end) {
        return weights_of(task(step, parts, index + 1));
    }
    const auto first_weights = [&](const auto& next) -> const std::byte* {
        const Cut next_parts = cut(next);
        const ThreadPool::Share own = ThreadPool::share(next_parts.n_tasks(), worker, n_workers);
        return own.first < own.end ? weights_of(task(next, next_parts, own.first)) : nullptr;
    };
    if (const auto* next = std::get_if<ProductStep>(next_multiplying_)) return first_weights(*next);
    return first_weights(std::get<GatedStep>(*next_multiplying_));
}

Status CpuExecutable::observe_products(ProductObserver observer) {
    observer_ = std::move(observer);
    return {};
}

void CpuExecutable::observe(const Product& product, RowDomain domain) {
    if (!observer_) return;
    const uint32_t rows = n_rows(domain), columns = weights_->matrix(product.op.weight).cols();
    observed_.resize(size_t{rows} * columns);
    for (uint32_t row = 0; row < rows; ++row) {
        float* to = observed_.data() + size_t{row} * columns;
        if (product.dense) {
            std::copy_n(memory_.rows(product.op.in).row(row), columns, to);
            continue;
        }
        const QuantizedRows& in = memory_.quantized(product.op.in);
        const auto* values = reinterpret_cast<const int8_t*>(in.row(row));
        const auto* scales = reinterpret_cast<const float*>(in.row(row) + in.layout.scales_offset);
        for (uint32_t i = 0; i < columns; ++i)
            to[i] = scales[i / kBlockValues] * static_cast<float>(values[i]);
    }
    observer_(product.op.weight, observed_, rows);
}

void CpuExecutable::run_step(const ProductStep& step) {
    if (n_rows(step.domain) == 0) return;
    for (const Product& product : step.products) observe(product, step.domain);
    const Cut parts = cut(step);
    parallel(parts.n_tasks(), true, [&](uint32_t index, uint32_t worker) {
        const Task own = task(step, parts, index);
        const Rows out = memory_.rows(own.product->out);
        multiply(*own.product, own.rows, own.panels, out.data, out.stride, worker,
                 weights_after(step, parts, index, worker));
    });
}

void CpuExecutable::run_step(const GatedStep& step) {
    if (n_rows(step.domain) == 0) return;
    observe(step.gate, step.domain);
    observe(step.up, step.domain);
    const Cut parts = cut(step);
    parallel(parts.n_tasks(), true, [&](uint32_t index, uint32_t worker) {
        const Task own = task(step, parts, index);
        const std::byte* after = weights_after(step, parts, index, worker);
        for (uint32_t row = own.rows.first; row < own.rows.end; row += kGatedRows) {
            gated_block(step, {row, std::min(own.rows.end, row + kGatedRows)}, own.panels, worker, after);
        }
    });
}

// Gate and up of a few rows stay in the worker's cache until the activation has used them.
void CpuExecutable::gated_block(const GatedStep& step, RowRange rows, RowRange panels, uint32_t worker,
                                const std::byte* after) {
    constexpr size_t kStride = size_t{kGatedPanels} * kPanelRows;
    const uint32_t first = panels.first * kPanelRows;
    const uint32_t n = std::min(panels.end * kPanelRows, program_->value(step.op.out).width) - first;
    float* gate = memory_.scratch(worker);
    float* up = gate + kGatedRows * kStride;
    // The kernels count rows and outputs from the start of the matrix.
    const size_t origin = rows.first * kStride + first;
    multiply(step.gate, rows, panels, gate - origin, kStride, worker, weights_of({&step.up, rows, panels}));
    multiply(step.up, rows, panels, up - origin, kStride, worker, after);
    for (uint32_t row = rows.first; row < rows.end; ++row, gate += kStride, up += kStride) {
        float* out = step.store ? memory_.rows(step.op.out).row(row) + first : gate;
        activate(step.op.activation, gate, up, out, n);
        if (step.quantize) quantize_part(out, memory_.quantized(step.op.out), row, first, n);
    }
}

void CpuExecutable::quantize_part(const float* x, const QuantizedRows& out, uint32_t row, uint32_t first,
                                  uint32_t n) const {
    const size_t block = first / kBlockValues;
    QuantizedLayout part = out.layout;  // counted from the part's first value
    part.cols = n;
    part.n_blocks = n / kBlockValues;
    part.scales_offset += 4 * block - first;
    part.scaled_sums_offset += 4 * block - first;
    part.minus_sums_offset += 4 * block - first;
    part.minus_half_sums_offset += 8 * block - first;
    kernels_.quantize_row(x, part, out.row(row) + first);
}

}  // namespace takt::cpu
