// Every buffer of one executable, allocated before the first run: value slots, pages, scratch of the workers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "base/aligned_buffer.h"
#include "cpu/kernels/packed_matrix.h"
#include "cpu/kernels/row_layout.h"
#include "cpu/kv_pages.h"
#include "cpu/step_plan.h"
#include "program/program.h"

namespace takt::cpu {

// Positions whose attention is summed on its own; the sums are merged in order of position. A constant of
// absolute positions, so that threads may share a long sequence and no bit depends on whether they do.
constexpr uint32_t kChunkPositions = 256;
// Query rows times query heads per key head of one attention task, at most (or one row).
constexpr uint32_t kTaskQueries = 48;
// Rows and panels of a gated product that a worker computes before it applies the activation. Prefill of
// Qwen2.5-Coder 1.5B and 0.5B, turn about (EPYC Zen 5, 2 threads, 2026-11): 48 rows of 16 panels 454 and 1491
// tokens/s, 144 of 16 460 and 1538, 96 of 8 466 and 1548, 192 of 8 471 and 1548, 256 of 4 469 and 1559.
constexpr uint32_t kGatedRows = 192, kGatedPanels = 8;
// Logits of a row that one task of argmax looks at.
constexpr uint32_t kArgmaxColumns = 16384;

// Cosines and sines of the rows of a step for one shape of RoPE, shared by all its ops.
struct RopeTable {
    RopeOp shape;                     // in and out mean nothing
    std::vector<double> frequencies;  // [rotated_dim / 2]
    AlignedBuffer angles;             // [max_rows][2][rotated_dim]: cosines, then sines with their sign
    float* cosines(uint32_t row) { return angles.as<float>().data() + size_t{row} * 2 * shape.rotated_dim; }
    float* sines(uint32_t row) { return cosines(row) + shape.rotated_dim; }
};

struct Rows {
    float* data = nullptr;
    size_t stride = 0;  // floats
    float* row(uint32_t index) const { return data + index * stride; }
};

// Rows of a mixture's experts, those of one expert behind those of the one before.
struct ExpertRows {
    AlignedBuffer begins, places;        // uint32: [experts + 1], [rows][choices]
    AlignedBuffer in, gate, up, hidden;  // by gathered row; in and hidden also quantized
    AlignedBuffer down;
    size_t n_gathered = 0;

    static constexpr size_t kBuffers = 7;
    std::array<AlignedBuffer*, kBuffers> buffers() {
        return {&begins, &places, &in, &gate, &up, &hidden, &down};
    }
    std::array<const AlignedBuffer*, kBuffers> buffers() const {
        return {&begins, &places, &in, &gate, &up, &hidden, &down};
    }
};

// What sizes depend on beside the program and the options.
struct MemoryShape {
    uint32_t n_threads = 1;
    uint32_t onednn_columns = 0;  // of the widest matrix that oneDNN multiplies; 0: none
};

class CpuMemory {
public:
    // What allocate() would hold; out_of_memory if a size overflows.
    static Result<MemoryPlan> plan(const Program& program, const StepPlan& steps,
                                   const CompileOptions& options, const MemoryShape& shape);
    static Result<CpuMemory> allocate(const Program& program, const StepPlan& steps,
                                      const CompileOptions& options, const MemoryShape& shape);

    Rows rows(ValueId value) const { return floats_[value.index]; }
    const QuantizedRows& quantized(ValueId value) const { return quantized_[value.index]; }
    KvPages& pages(StateId state) { return pages_[state.index]; }
    std::vector<KvPages>& all_pages() { return pages_; }
    RopeTable& rope_table(const RopeOp& op) { return rope_tables_[rope_table_of_[op.out.index]]; }
    std::vector<RopeTable>& rope_tables() { return rope_tables_; }
    // Scratch of one worker, 64-byte aligned, big enough for any step.
    float* scratch(uint32_t worker) { return scratch_.as<float>().data() + worker * scratch_floats_; }
    // Of the same worker: MatmulCall::scratch.
    std::byte* unpacked(uint32_t worker) { return unpacked_.data() + worker * unpacked_bytes_; }
    // Of the same worker, for the weights that oneDNN reads.
    float* onednn_scratch(uint32_t worker) {
        return onednn_scratch_.as<float>().data() + worker * onednn_floats_;
    }
    // Attention states of chunks that threads share.
    float* partials() { return partials_.as<float>().data(); }
    ExpertRows& expert_rows() { return experts_; }
    std::span<ArgmaxResult> argmax_parts() { return argmax_parts_.as<ArgmaxResult>(); }

    uint64_t state_bytes() const;
    uint64_t scratch_bytes() const;

private:
    std::vector<AlignedBuffer> slots_, quantized_slots_;
    std::vector<Rows> floats_;              // by value
    std::vector<QuantizedRows> quantized_;  // by value
    std::vector<KvPages> pages_;
    std::vector<RopeTable> rope_tables_;
    std::vector<uint32_t> rope_table_of_;  // by output value
    AlignedBuffer scratch_, unpacked_, onednn_scratch_, partials_, argmax_parts_;
    ExpertRows experts_;
    size_t scratch_floats_ = 0, unpacked_bytes_ = 0, onednn_floats_ = 0;
};

constexpr uint32_t padded_dim(uint32_t dim) {
    return (dim + kRowLanes - 1) / kRowLanes * kRowLanes;
}
constexpr size_t state_stride(uint32_t value_dim) {
    return kStateValues + padded_dim(value_dim);
}
constexpr uint32_t heads_per_group(const AttentionOp& op, const KvStateDecl& state) {
    return op.n_heads / state.n_kv_heads;
}
// Scratch of AttentionTile::widened: keys, values and the factors of values as floats.
constexpr uint64_t widened_floats(const KvShape& shape) {
    if (shape.form != KvForm::q8_0) return 0;
    return kTilePositions * (uint64_t{shape.key_dim} + shape.value_stride + shape.value_stride / kKvBlock);
}
// Rows of one attention task.
constexpr uint32_t task_rows(uint32_t heads) {
    return heads >= kTaskQueries / 2 ? 1 : kTaskQueries / heads < 16 ? kTaskQueries / heads : 16;
}
// Tasks of single rows below which chunks are shared between threads.
constexpr uint32_t shared_units(uint32_t n_threads) {
    return n_threads > 1 ? 2 * n_threads : 0;
}
constexpr uint32_t chunks_of(uint32_t n_positions) {
    return (n_positions + kChunkPositions - 1) / kChunkPositions;
}

}  // namespace takt::cpu
