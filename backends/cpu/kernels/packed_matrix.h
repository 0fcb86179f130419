// A weight matrix in the form the CPU kernels read (panels of 16 rows), and rows of quantized activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "cpu/kernels/panel_layout.h"
#include "tensor/dtype.h"

namespace takt::cpu {

struct KernelTable;

// Fills `out` with the bytes of n_rows whole rows of the source. Called from the packing thread alone, in row
// order.
using RowReader = FunctionRef<Status(uint64_t first_row, uint32_t n_rows, std::span<std::byte> out)>;

class PackedMatrix {
public:
    PackedMatrix() = default;
    // Reads windows of a few MB, so that the source is never resident, and packs each on the pool.
    static Result<PackedMatrix> pack(DType dtype, uint32_t rows, uint32_t cols, RowReader read,
                                     ThreadPool& pool);
    // Over panels that someone else keeps: bytes that pack_rows() wrote for the same type and shape.
    static PackedMatrix over(DType dtype, uint32_t rows, uint32_t cols, const std::byte* panels);
    // Packs the panels of rows [first_row, first_row + n_rows), first_row a multiple of 16, into a matrix's
    // zero-filled panels. `source` holds these rows, and zeros up to a whole kPackedRows of them.
    static void pack_rows(DType dtype, const PanelLayout& layout, uint32_t first_row, uint32_t n_rows,
                          const std::byte* source, std::byte* panels);
    // Bytes that pack() would hold, for plans; invalid_argument if cols isn't whole blocks or a size doesn't
    // fit.
    static Result<uint64_t> packed_bytes(DType dtype, uint32_t rows, uint32_t cols);

    DType dtype() const { return dtype_; }
    PackedKind kind() const { return kind_; }
    bool dense() const { return layout_.n_blocks == 0; }  // dense kinds take rows of float, not QuantizedRows
    uint32_t rows() const { return layout_.rows; }
    uint32_t cols() const { return layout_.cols; }
    uint32_t n_panels() const { return layout_.n_panels; }
    size_t size_bytes() const { return layout_.n_panels * layout_.panel_bytes; }
    const PanelLayout& layout() const { return layout_; }
    const std::byte* panels() const { return panels_; }

    // Bit for bit what dequantize_row gives for the source's row. For embeddings and for dense products
    // elsewhere.
    void unpack_row(uint32_t row, float* out) const;
    void unpack_rows(uint32_t first_row, uint32_t n_rows, float* out) const;  // out [n_rows][cols]

private:
    DType dtype_ = DType::f32;
    PackedKind kind_ = PackedKind::f32;
    PanelLayout layout_;
    AlignedBuffer own_;  // empty for a matrix over someone else's panels
    const std::byte* panels_ = nullptr;
};

// cols must be a multiple of 32.
QuantizedLayout quantized_layout(uint32_t cols);
size_t quantized_row_bytes(uint32_t cols);

// Rows of quantized activations in a scratch buffer of someone else: n rows of quantized_row_bytes(cols),
// 64-byte aligned.
struct QuantizedRows {
    QuantizedRows() = default;
    QuantizedRows(std::byte* bytes, uint32_t cols) : data(bytes), layout(quantized_layout(cols)) {}
    std::byte* row(uint32_t index) const { return data + index * layout.row_bytes; }
    std::byte* data = nullptr;
    QuantizedLayout layout;
};

struct MatmulOptions {
    const float* bias = nullptr;      // [matrix.rows()]
    bool accumulate = false;          // out += instead of out =: a residual's add, last
    std::byte* scratch = nullptr;     // MatmulCall::scratch
    const std::byte* next = nullptr;  // MatmulCall::next
};

// Quantizes rows [first_row, first_row + n_rows) of x [..][cols], x_stride floats apart. Any split over
// threads gives the same bits.
void quantize_rows(const KernelTable& kernels, const float* x, size_t x_stride, uint32_t first_row,
                   uint32_t n_rows, const QuantizedRows& out);

// out[row * out_stride + r] = matrix row r . x row, for rows [first_row, + n_rows) of x and the output rows
// of panels [first_panel, + n_panels). x and out point at row 0 and output 0. A result's bits depend on
// nothing but its matrix row and its row of x: not on the other rows, nor on how panels and rows are split.
// Values outside the asked panels and rows aren't touched.
void matmul(const KernelTable& kernels, const PackedMatrix& matrix, const QuantizedRows& x,
            uint32_t first_row, uint32_t n_rows, uint32_t first_panel, uint32_t n_panels, float* out,
            size_t out_stride, const MatmulOptions& options = {});
// The same for dense matrices; x [..][cols], x_stride floats from row to row.
void matmul_dense(const KernelTable& kernels, const PackedMatrix& matrix, const float* x, size_t x_stride,
                  uint32_t first_row, uint32_t n_rows, uint32_t first_panel, uint32_t n_panels, float* out,
                  size_t out_stride, const MatmulOptions& options = {});

}  // namespace takt::cpu
