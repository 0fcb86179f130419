// Products of dense packed weights (f32, f16, bf16), written once for every ISA but scalar. Included inside
// an ISA's namespace after its vec_<isa>.h. One fused chain per output over k in order, whatever the tile: a
// row's bits don't depend on its batch. kDenseRows and kDenseVectors: rows of x and vectors of output rows
// that a tile's registers hold; a lone row takes kLoneVectors, so that enough chains are in flight.

namespace {

template <PackedKind kKind>
inline VecF load_dense(const std::byte* p) {
    if constexpr (kKind == PackedKind::f32)
        return load(reinterpret_cast<const float*>(p));
    else if constexpr (kKind == PackedKind::f16)
        return load_f16(p);
    else
        return load_bf16(p);
}

template <PackedKind kKind, int kRows, int kVectors>
void dense_tile(const MatmulCall& call, size_t first_row, size_t first_vector, size_t end_vector) {
    constexpr size_t kVectorsAPanel = kPanelRows / kLanes;
    constexpr size_t kBytes = kKind == PackedKind::f32 ? 4 : 2;
    const std::byte* w[kVectors];
    const float* x[kRows];
    VecF sums[kRows][kVectors];
    for (int v = 0; v < kVectors; ++v) {  // a vector past the end repeats the last one and isn't written
        const size_t vector = first_vector + v < end_vector ? first_vector + v : end_vector - 1;
        w[v] = call.panels + vector / kVectorsAPanel * call.layout.panel_bytes +
               vector % kVectorsAPanel * kLanes * kBytes;
    }
    for (int t = 0; t < kRows; ++t)
        x[t] = reinterpret_cast<const float*>(call.x + (first_row + t) * call.x_row_bytes);
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[t][v] = zero_f();
    }
    for (size_t k = 0; k < call.layout.cols; ++k) {
        VecF weights[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) weights[v] = load_dense<kKind>(w[v] + k * kPanelRows * kBytes);
#pragma GCC unroll 16
        for (int t = 0; t < kRows; ++t) {
            const VecF one = splat(x[t][k]);
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) sums[t][v] = fma(weights[v], one, sums[t][v]);
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
        if (first_vector + v >= end_vector) break;
#pragma GCC unroll 16
        for (int t = 0; t < kRows; ++t) store_output(call, sums[t][v], first_row + t, first_vector + v);
    }
}

template <PackedKind kKind, int kRows>
void dense_rows_by_tiles(const MatmulCall& call, size_t first, size_t end, size_t first_vector,
                         size_t end_vector) {
    if constexpr (kRows > 0) {
        for (; first + kRows <= end; first += kRows)
            dense_tile<kKind, kRows, kDenseVectors>(call, first, first_vector, end_vector);
        dense_rows_by_tiles<kKind, kRows - 1>(call, first, end, first_vector, end_vector);
    }
}

template <PackedKind kKind>
void matmul_dense(const MatmulCall& call) {
    constexpr size_t kVectorsAPanel = kPanelRows / kLanes;
    const size_t first_vector = call.first_panel * kVectorsAPanel;
    const size_t end_vector = first_vector + call.n_panels * kVectorsAPanel;
    if (call.n_rows == 1) {
        for (size_t v = first_vector; v < end_vector; v += kLoneVectors) {
            dense_tile<kKind, 1, kLoneVectors>(call, call.first_row, v, end_vector);
        }
        return;
    }
    for (size_t v = first_vector; v < end_vector; v += kDenseVectors) {
        dense_rows_by_tiles<kKind, kDenseRows>(call, call.first_row, size_t{call.first_row} + call.n_rows, v,
                                               end_vector);
    }
}

}  // namespace

void set_dense_matmul(KernelTable& table) {
    table.matmul[static_cast<size_t>(PackedKind::f32)] = matmul_dense<PackedKind::f32>;
    table.matmul[static_cast<size_t>(PackedKind::f16)] = matmul_dense<PackedKind::f16>;
    table.matmul[static_cast<size_t>(PackedKind::bf16)] = matmul_dense<PackedKind::bf16>;
}
