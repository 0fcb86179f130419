// A few panels at a time are unpacked to rows and multiplied by oneDNN: f32 and f16 weights by its sgemm,
// whose interface 2.x and 3.x share, bf16 weights beside rows of x that are rounded to bf16.
#include "cpu/onednn_matmul.h"

#if defined(TAKT_HAVE_ONEDNN)
#include <algorithm>
#include <cstring>
#include <exception>

#include <oneapi/dnnl/dnnl.hpp>

#include "cpu/kernels/kernel_table.h"
#include "cpu/openmp_threads.h"
#endif

namespace takt::cpu {

bool onednn_has_amx() {
#if defined(TAKT_HAVE_ONEDNN)
    // oneDNN itself asks the operating system for the tiles (arch_prctl, ARCH_REQ_XCOMP_PERM), in 2.6 as
    // in 3.x.
    static const bool amx =
        (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx;
    return amx;
#else
    return false;
#endif
}

// What one core reached with 512 rows, GFLOP/s (AMD EPYC 9B45, 2026-11, oneDNN 2.6.3 held to the same
// instruction set):
//   level   type   own kernel   unpack + sgemm   sgemm with the whole matrix unpacked
//   avx512  f32    241          200              220
//   avx512  f16    237          175              220
//   avx2    f32    124          113              122
//   avx2    f16    60           105              121
//
// bf16 weights there, as below: 240 by the own kernel, 297 to 358 by oneDNN from 128 rows on (AVX-512 BF16).
// But x is rounded to 8 bits of fraction, 0.17 % of a row of outputs, so only AMX may take it: its peak for
// bf16 is eight times that of AVX-512 for float32. The 128 rows of AMX are not measured on hardware
// (kUseAmx).
//
// Block types stay with the own kernels. Their scales change every 32 columns, so oneDNN multiplies slices of
// 32 into int32 and another pass scales and adds each. 512 rows of 1536 columns, u8 x s8, one thread there:
// 1050 GOP/s without slices, 626 with (3.2: 525), 386 with the pass (3.2: 336), against 720 to 800 of the own
// kernels. The pass alone would hold slices that took no time to 1000, and they fill half the depth of an AMX
// tile.
uint32_t onednn_least_rows([[maybe_unused]] IsaLevel level, [[maybe_unused]] PackedKind kind,
                           [[maybe_unused]] bool amx) {
#if defined(TAKT_HAVE_ONEDNN)
    // avx_vnni computes dense products as avx2 does.
    if ((level == IsaLevel::avx2 || level == IsaLevel::avx_vnni) && kind == PackedKind::f16) return 128;
    if (amx && level == IsaLevel::avx512_vnni && kind == PackedKind::bf16) return 128;
#endif
    return 0;
}

#if defined(TAKT_HAVE_ONEDNN)
namespace {

using dnnl::memory;

constexpr uint32_t kSgemmPanels = 4;
// What the scratch holds; the rows of a product are cut into blocks of nearly equal size.
constexpr uint32_t kBf16Rows = 144, kBf16Panels = 7, kBf16Outputs = kBf16Panels * kPanelRows;
static_assert(kSgemmPanels * kPanelRows <= onednn_scratch_floats(1));
static_assert((kBf16Rows + kBf16Outputs) * sizeof(uint16_t) <= onednn_scratch_floats(1) * sizeof(float));

// What onednn_multiply() was called with, but for the part of it.
struct Product {
    const KernelTable& kernels;
    const PackedMatrix& matrix;
    const float* x;
    size_t x_stride;
    float* out;
    size_t out_stride;
    const MatmulOptions& options;
    float* scratch;
};

struct Part {
    uint32_t first_row, n_rows, first_panel, n_panels;
    uint32_t first_output() const { return first_panel * kPanelRows; }
    uint32_t n_outputs(const PackedMatrix& matrix) const {
        return std::min(n_panels * kPanelRows, matrix.rows() - first_output());
    }
};

// What is left to do once oneDNN has multiplied a part, or all of it where oneDNN could not.
void finish(const Product& p, const Part& part, bool multiplied) {
    if (!multiplied) {
        return matmul_dense(p.kernels, p.matrix, p.x, p.x_stride, part.first_row, part.n_rows,
                            part.first_panel, part.n_panels, p.out, p.out_stride, p.options);
    }
    if (p.options.bias == nullptr) return;
    for (uint32_t row = part.first_row; row < part.first_row + part.n_rows; ++row) {
        float* outputs = p.out + row * p.out_stride + part.first_output();
        p.kernels.rows.add(outputs, p.options.bias + part.first_output(), outputs, part.n_outputs(p.matrix));
    }
}

bool multiply_sgemm(const Product& p, const Part& part) {
    const auto columns = static_cast<dnnl_dim_t>(p.matrix.cols());
    const uint32_t n = part.n_outputs(p.matrix);
    p.matrix.unpack_rows(part.first_output(), n, p.scratch);
    return dnnl_sgemm('N', 'T', part.n_rows, n, columns, 1.0f, p.x + part.first_row * p.x_stride,
                      static_cast<dnnl_dim_t>(p.x_stride), p.scratch, columns,
                      p.options.accumulate ? 1.0f : 0.0f,
                      p.out + part.first_row * p.out_stride + part.first_output(),
                      static_cast<dnnl_dim_t>(p.out_stride)) == dnnl_success;
}

class Bf16Product {
public:
    explicit Bf16Product(const Product& product)
        : p_(product),
          columns_(p_.matrix.cols()),
          x_(reinterpret_cast<uint16_t*>(p_.scratch)),
          weights_(x_ + kBf16Rows * size_t{p_.matrix.cols()}) {
        if (!p_.options.accumulate) return;
        dnnl::post_ops sum;
        sum.append_sum(1.0f);
        attributes_.set_post_ops(sum);
    }

    void round_rows(uint32_t first_row, uint32_t n_rows) {
        const memory::desc floats({n_rows, columns_}, memory::data_type::f32, strides(p_.x_stride));
        memory from(floats, cpu_, const_cast<float*>(p_.x + first_row * p_.x_stride)),
            to(row_desc(n_rows), cpu_, x_);
        dnnl::reorder(from, to).execute(stream_, from, to);
        stream_.wait();
    }

    void multiply(const Part& part) {
        for (uint32_t i = 0; i < part.n_panels; ++i)
            copy_panel(part.first_panel + i, weights_ + i * kPanelRows);
        const memory::dim rows = part.n_rows, n = part.n_outputs(p_.matrix);
        const memory::desc x = row_desc(rows),
                           w({columns_, n}, memory::data_type::bf16, strides(kBf16Outputs)),
                           y({rows, n}, memory::data_type::f32, strides(p_.out_stride));
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::matmul::primitive_desc desc(cpu_, x, w, y, attributes_);
#else
        const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(x, w, y), attributes_, cpu_);
#endif
        float* out = p_.out + part.first_row * p_.out_stride + part.first_output();
        dnnl::matmul(desc).execute(stream_, {{DNNL_ARG_SRC, memory(x, cpu_, x_)},
                                             {DNNL_ARG_WEIGHTS, memory(w, cpu_, weights_)},
                                             {DNNL_ARG_DST, memory(y, cpu_, out)}});
        stream_.wait();
    }

private:
    static memory::dims strides(size_t row) { return {static_cast<memory::dim>(row), 1}; }
    memory::desc row_desc(memory::dim n_rows) const {
        return {{n_rows, columns_}, memory::data_type::bf16, memory::format_tag::ab};
    }
    // A panel's values of one column lie side by side, and so do those of all panels here.
    void copy_panel(uint32_t panel, uint16_t* to) const {
        constexpr size_t kBytes = kPanelRows * sizeof(uint16_t);
        const std::byte* from = p_.matrix.panels() + panel * p_.matrix.layout().panel_bytes;
        for (uint32_t column = 0; column < p_.matrix.cols(); ++column)
            std::memcpy(to + column * size_t{kBf16Outputs}, from + column * kBytes, kBytes);
    }

    const Product& p_;
    memory::dim columns_;
    uint16_t *x_, *weights_;  // [kBf16Rows][columns], [columns][kBf16Outputs]
    dnnl::engine cpu_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{cpu_};
    dnnl::primitive_attr attributes_;
};

// Rows in as few blocks of about the same size as the scratch allows.
void multiply_bf16(const Product& p, const Part& whole) {
    const uint32_t n_blocks = (whole.n_rows + kBf16Rows - 1) / kBf16Rows;
    for (uint32_t block = 0; block < n_blocks; ++block) {
        const auto row_at = [&](uint32_t i) {
            return static_cast<uint32_t>(uint64_t{whole.n_rows} * i / n_blocks);
        };
        Part part{whole.first_row + row_at(block), row_at(block + 1) - row_at(block), whole.first_panel, 0};
        const uint32_t end = whole.first_panel + whole.n_panels;
        try {
            Bf16Product product(p);
            product.round_rows(part.first_row, part.n_rows);
            for (; part.first_panel < end; part.first_panel += part.n_panels) {
                part.n_panels = std::min(kBf16Panels, end - part.first_panel);
                product.multiply(part);
                finish(p, part, true);
            }
        } catch (const std::exception&) {  // of what oneDNN refuses nothing is written yet
            part.n_panels = end - part.first_panel;
            finish(p, part, false);
        }
    }
}

}  // namespace

void onednn_multiply(const KernelTable& kernels, const PackedMatrix& matrix, const float* x, size_t x_stride,
                     uint32_t first_row, uint32_t n_rows, uint32_t first_panel, uint32_t n_panels, float* out,
                     size_t out_stride, const MatmulOptions& options, float* scratch) {
    const OneOpenMpThread one_thread;
    const Product product{kernels, matrix, x, x_stride, out, out_stride, options, scratch};
    if (matrix.kind() == PackedKind::bf16)
        return multiply_bf16(product, {first_row, n_rows, first_panel, n_panels});
    for (uint32_t panel = first_panel; panel < first_panel + n_panels; panel += kSgemmPanels) {
        const Part part{first_row, n_rows, panel, std::min(kSgemmPanels, first_panel + n_panels - panel)};
        finish(product, part, multiply_sgemm(product, part));
    }
}
#else
void onednn_multiply(const KernelTable& kernels, const PackedMatrix& matrix, const float* x, size_t x_stride,
                     uint32_t first_row, uint32_t n_rows, uint32_t first_panel, uint32_t n_panels, float* out,
                     size_t out_stride, const MatmulOptions& options, float*) {
    matmul_dense(kernels, matrix, x, x_stride, first_row, n_rows, first_panel, n_panels, out, out_stride,
                 options);
}
#endif

}  // namespace takt::cpu
