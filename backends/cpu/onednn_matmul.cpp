// A few panels at a time are unpacked to float32 rows and multiplied by oneDNN's sgemm, whose interface 2.x
// and 3.x share.
#include "cpu/onednn_matmul.h"

#if defined(TAKT_HAVE_ONEDNN)
#include <algorithm>

#include <oneapi/dnnl/dnnl.h>

#include "cpu/kernels/kernel_table.h"
#include "cpu/openmp_threads.h"
#endif

namespace takt::cpu {

// What one core reached with 512 rows, GFLOP/s (AMD EPYC 9B45, 2026-11, oneDNN 2.6.3 held to the same
// instruction set):
//   level   type   own kernel   unpack + sgemm   sgemm with the whole matrix unpacked
//   avx512  f32    241          200              220
//   avx512  f16    237          175              220
//   avx2    f32    124          113              122
//   avx2    f16    60           105              121
// bf16 products of oneDNN run at 500 where the CPU has them, but round the activations to 8 bits of fraction.
uint32_t onednn_least_rows([[maybe_unused]] IsaLevel level, [[maybe_unused]] PackedKind kind) {
#if defined(TAKT_HAVE_ONEDNN)
    // avx_vnni computes dense products as avx2 does.
    if ((level == IsaLevel::avx2 || level == IsaLevel::avx_vnni) && kind == PackedKind::f16) return 128;
#endif
    return 0;
}

#if defined(TAKT_HAVE_ONEDNN)
namespace {

constexpr uint32_t kPanelsAtOnce = 4;  // 64 outputs, what onednn_scratch_floats() counts

}  // namespace

void onednn_multiply(const KernelTable& kernels, const PackedMatrix& matrix, const float* x, size_t x_stride,
                     uint32_t first_row, uint32_t n_rows, uint32_t first_panel, uint32_t n_panels, float* out,
                     size_t out_stride, const MatmulOptions& options, float* scratch) {
    const OneOpenMpThread one_thread;
    const auto columns = static_cast<dnnl_dim_t>(matrix.cols());
    for (uint32_t panel = first_panel; panel < first_panel + n_panels; panel += kPanelsAtOnce) {
        const uint32_t panels = std::min(kPanelsAtOnce, first_panel + n_panels - panel),
                       first = panel * kPanelRows;
        const uint32_t n = std::min(panels * kPanelRows, matrix.rows() - first);
        matrix.unpack_rows(first, n, scratch);
        const dnnl_status_t status =
            dnnl_sgemm('N', 'T', n_rows, n, columns, 1.0f, x + first_row * x_stride,
                       static_cast<dnnl_dim_t>(x_stride), scratch, columns, options.accumulate ? 1.0f : 0.0f,
                       out + first_row * out_stride + first, static_cast<dnnl_dim_t>(out_stride));
        if (status != dnnl_success) {
            matmul_dense(kernels, matrix, x, x_stride, first_row, n_rows, panel, panels, out, out_stride,
                         options);
        } else if (options.bias != nullptr) {
            for (uint32_t row = first_row; row < first_row + n_rows; ++row) {
                float* outputs = out + row * out_stride + first;
                kernels.rows.add(outputs, options.bias + first, outputs, n);
            }
        }
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
