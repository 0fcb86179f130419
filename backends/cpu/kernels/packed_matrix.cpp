// Packs a matrix window by window, and the calls that every op makes on it.
#include "cpu/kernels/packed_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cpu/kernels/kernel_table.h"
#include "cpu/kernels/pack_panels.h"

namespace takt::cpu {
namespace {

constexpr size_t kWindowBytes = size_t{4} << 20;  // of the source, read at once

size_t round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

MatmulCall make_call(const PackedMatrix& matrix, uint32_t first_row, uint32_t n_rows, uint32_t first_panel,
                     uint32_t n_panels, float* out, size_t out_stride, const MatmulOptions& options) {
    MatmulCall call;
    call.panels = matrix.panels();
    call.layout = matrix.layout();
    call.first_row = first_row;
    call.n_rows = n_rows;
    call.first_panel = first_panel;
    call.n_panels = n_panels;
    call.out = out;
    call.out_stride = out_stride;
    call.bias = options.bias;
    call.accumulate = options.accumulate;
    call.scratch = options.scratch;
    call.next = options.next;
    return call;
}

}  // namespace

Result<uint64_t> PackedMatrix::packed_bytes(DType dtype, uint32_t rows, uint32_t cols) {
    const DTypeInfo& info = dtype_info(dtype);
    if (rows == 0 || cols == 0 || cols % info.block_elements != 0) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("A {} matrix of {} rows and {} columns isn't made of whole blocks of {}.",
                                  info.name, rows, cols, info.block_elements));
    }
    if (rows > std::numeric_limits<uint32_t>::max() - kPanelRows) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("A matrix has {} rows, more than can be packed.", rows));
    }
    const PanelLayout layout = panel_layout(dtype, rows, cols);
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(uint64_t{layout.panel_bytes}, uint64_t{layout.n_panels}, &bytes) ||
        bytes > std::numeric_limits<size_t>::max() / 2) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("A matrix of {} rows and {} columns doesn't fit in memory.", rows, cols));
    }
    return bytes;
}

PackedMatrix PackedMatrix::over(DType dtype, uint32_t rows, uint32_t cols, const std::byte* panels) {
    PackedMatrix matrix;
    matrix.dtype_ = dtype;
    matrix.kind_ = packed_kind(dtype);
    matrix.layout_ = panel_layout(dtype, rows, cols);
    matrix.panels_ = panels;
    return matrix;
}

void PackedMatrix::pack_rows(DType dtype, const PanelLayout& layout, uint32_t first_row, uint32_t n_rows,
                             const std::byte* source, std::byte* panels) {
    const size_t source_row_bytes = row_bytes(dtype, layout.cols);
    for (size_t row = 0; row < n_rows; row += kPanelRows) {
        pack_panel(dtype, layout, source + row * source_row_bytes, source_row_bytes,
                   static_cast<uint32_t>(std::min<size_t>(kPanelRows, n_rows - row)),
                   panels + (first_row + row) / kPanelRows * layout.panel_bytes);
    }
}

Result<PackedMatrix> PackedMatrix::pack(DType dtype, uint32_t rows, uint32_t cols, RowReader read,
                                        ThreadPool& pool) {
    const Result<uint64_t> bytes = packed_bytes(dtype, rows, cols);
    if (!bytes.ok()) return bytes.status();
    Result<AlignedBuffer> panels = AlignedBuffer::allocate(*bytes);
    if (!panels.ok()) return panels.status();
    PackedMatrix matrix = over(dtype, rows, cols, panels->data());
    const PanelLayout& layout = matrix.layout_;

    const size_t source_row_bytes = row_bytes(dtype, cols);
    const size_t panels_a_window =
        std::clamp<size_t>(kWindowBytes / (source_row_bytes * kPanelRows), 1, layout.n_panels);
    const size_t window_rows = panels_a_window * kPanelRows;
    Result<AlignedBuffer> window = AlignedBuffer::allocate(window_rows * source_row_bytes);
    if (!window.ok()) return window.status();
    for (size_t first_row = 0; first_row < rows; first_row += window_rows) {
        const size_t n_rows = std::min<size_t>(window_rows, rows - first_row);
        const size_t n_bytes = n_rows * source_row_bytes;
        TAKT_RETURN_IF_ERROR(read(first_row, static_cast<uint32_t>(n_rows), {window->data(), n_bytes}));
        std::fill(window->data() + n_bytes, window->data() + window->size_bytes(), std::byte{0});
        const auto pack_one = [&](uint32_t task, uint32_t) {
            const size_t row = size_t{task} * kPanelRows;
            pack_rows(dtype, layout, static_cast<uint32_t>(first_row + row),
                      static_cast<uint32_t>(std::min<size_t>(kPanelRows, n_rows - row)),
                      window->data() + row * source_row_bytes, panels->data());
        };
        pool.run(static_cast<uint32_t>((n_rows + kPanelRows - 1) / kPanelRows), pack_one);
    }
    matrix.own_ = std::move(*panels);
    return matrix;
}

void PackedMatrix::unpack_row(uint32_t row, float* out) const {
    unpack_panel_row(kind_, layout_, panels_ + row / kPanelRows * layout_.panel_bytes, row % kPanelRows, out);
}

void PackedMatrix::unpack_rows(uint32_t first_row, uint32_t n_rows, float* out) const {
    for (uint32_t i = 0; i < n_rows; ++i) unpack_row(first_row + i, out + size_t{i} * layout_.cols);
}

QuantizedLayout quantized_layout(uint32_t cols) {
    QuantizedLayout layout;
    layout.cols = cols;
    layout.n_blocks = cols / kBlockValues;
    layout.scales_offset = cols;
    layout.scaled_sums_offset = layout.scales_offset + 4 * size_t{layout.n_blocks};
    layout.minus_sums_offset = layout.scaled_sums_offset + 4 * size_t{layout.n_blocks};
    layout.minus_half_sums_offset = layout.minus_sums_offset + 4 * size_t{layout.n_blocks};
    layout.row_bytes = round_up(layout.minus_half_sums_offset + 8 * size_t{layout.n_blocks}, 64);
    return layout;
}

size_t quantized_row_bytes(uint32_t cols) {
    return quantized_layout(cols).row_bytes;
}

void quantize_rows(const KernelTable& kernels, const float* x, size_t x_stride, uint32_t first_row,
                   uint32_t n_rows, const QuantizedRows& out) {
    for (uint32_t row = first_row; row < first_row + n_rows; ++row) {
        kernels.quantize_row(x + row * x_stride, out.layout, out.row(row));
    }
}

void matmul(const KernelTable& kernels, const PackedMatrix& matrix, const QuantizedRows& x,
            uint32_t first_row, uint32_t n_rows, uint32_t first_panel, uint32_t n_panels, float* out,
            size_t out_stride, const MatmulOptions& options) {
    if (n_rows == 0 || n_panels == 0) return;
    MatmulCall call = make_call(matrix, first_row, n_rows, first_panel, n_panels, out, out_stride, options);
    call.x = x.data;
    call.x_layout = x.layout;
    call.x_row_bytes = x.layout.row_bytes;
    kernels.matmul[static_cast<size_t>(matrix.kind())](call);
}

void matmul_dense(const KernelTable& kernels, const PackedMatrix& matrix, const float* x, size_t x_stride,
                  uint32_t first_row, uint32_t n_rows, uint32_t first_panel, uint32_t n_panels, float* out,
                  size_t out_stride, const MatmulOptions& options) {
    if (n_rows == 0 || n_panels == 0) return;
    MatmulCall call = make_call(matrix, first_row, n_rows, first_panel, n_panels, out, out_stride, options);
    call.x = reinterpret_cast<const std::byte*>(x);
    call.x_row_bytes = x_stride * sizeof(float);
    kernels.matmul[static_cast<size_t>(matrix.kind())](call);
}

}  // namespace takt::cpu
