// Row-wise ops: what a row becomes depends on that row alone.
#include <algorithm>
#include <cmath>

#include "cpu/cpu_executable.h"

namespace takt::cpu {
namespace {

// Below this many floats written a step runs on the caller: about two microseconds, what a barrier costs
// (EPYC 9B45, 2026-11).
constexpr uint64_t kAloneFloats = 8192;
// Rows that one task computes: the positions of a page, whose keys share cache lines. Two cores in one page
// cost SmolLM2 9 of 125 ms of a prefill of 512 rows with 2 threads (16 rows a task; EPYC Zen 5, 2026-11).
constexpr uint32_t kMostRowsATask = 32;

}  // namespace

void CpuExecutable::run_step(const RowStep& step) {
    const uint32_t rows = n_rows(step.domain);
    const uint32_t spread = std::max(1u, rows / pool_.n_active());
    const uint32_t rows_a_task = std::min(spread, kMostRowsATask);
    const bool worth_it = rows * step.floats_per_row > kAloneFloats;
    parallel((rows + rows_a_task - 1) / rows_a_task, worth_it, [&](uint32_t task, uint32_t worker) {
        const RowRange range{task * rows_a_task, std::min(rows, (task + 1) * rows_a_task)};
        for (const RowOp& op : step.ops) std::visit([&](const auto& o) { run_op(o, range, worker); }, op);
    });
}

void CpuExecutable::run_op(const EmbedOp& op, RowRange rows, uint32_t) {
    const Rows out = memory_.rows(op.out);
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        weights_->matrix(op.table).unpack_row(static_cast<uint32_t>(batch_->tokens[row]), out.row(row));
    }
}

void CpuExecutable::run_op(const RmsNormOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    const size_t width = program_->value(op.in).width, group = op.group;
    const float* weight = op.weight.valid() ? weights_->vector(op.weight) : ones_.data();
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        for (size_t start = 0; start < width; start += group) {
            kernels_.rows.rms_norm(in.row(row) + start, weight, out.row(row) + start, group, op.epsilon);
        }
    }
}

void CpuExecutable::run_op(const RopeOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    RopeTable& table = memory_.rope_table(op);
    RopeCall call;
    call.n_heads = program_->value(op.in).width / op.head_dim;
    call.head_dim = op.head_dim;
    call.rotated_dim = op.rotated_dim;
    call.interleaved = op.style == RopeStyle::interleaved;
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        call.in = in.row(row);
        call.out = out.row(row);
        call.cosines = table.cosines(row);
        call.sines = table.sines(row);
        kernels_.rows.rope(call);
    }
}

void CpuExecutable::run_op(const KvAppendOp& op, RowRange rows, uint32_t worker) {
    const Rows keys = memory_.rows(op.keys), values = memory_.rows(op.values);
    const KvStateDecl& state = program_->state(op.state);
    KvPages& pages = memory_.pages(op.state);
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        const auto [sequence, position] = rows_.places()[row];
        const uint64_t page =
            batch_->sequences[sequence].block_tables[state.group][position / pages.page_tokens];
        for (uint32_t head = 0; head < state.n_kv_heads; ++head) {
            pages.shape.store(kernels_.rows, keys.row(row) + size_t{head} * state.key_dim,
                              values.row(row) + size_t{head} * state.value_dim, state.value_dim,
                              pages.run(page, head), position % pages.page_tokens, memory_.scratch(worker));
        }
    }
}

void CpuExecutable::run_op(const AddOp& op, RowRange rows, uint32_t) {
    const Rows a = memory_.rows(op.a), b = memory_.rows(op.b), out = memory_.rows(op.out);
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        kernels_.rows.add(a.row(row), b.row(row), out.row(row), program_->value(op.out).width);
    }
}

void CpuExecutable::run_op(const ScaleOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        kernels_.rows.scale(in.row(row), op.factor, out.row(row), program_->value(op.out).width);
        if (op.by.valid()) multiply_by_weight(op, out.row(row));
    }
}

void CpuExecutable::run_op(const SoftCapOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    for (uint32_t row = rows.first; row < rows.end; ++row) {
        kernels_.rows.soft_cap(in.row(row), op.cap, out.row(row), program_->value(op.out).width);
    }
}

void CpuExecutable::run_op(const SelectRowsOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in), out = memory_.rows(op.out);
    for (uint32_t i = rows.first; i < rows.end; ++i) {
        std::copy_n(in.row(rows_.outputs()[i]), program_->value(op.out).width, out.row(i));
    }
}

void CpuExecutable::run_op(const QuantizeOp& op, RowRange rows, uint32_t) {
    const Rows in = memory_.rows(op.in);
    quantize_rows(kernels_, in.data, in.stride, rows.first, rows.end - rows.first, memory_.quantized(op.in));
}

// Angles in double: at position 100000 a float has lost the fourth digit of the fraction.
void CpuExecutable::fill_rope_tables() {
    constexpr uint32_t kRowsATask = 8;
    const auto rows = static_cast<uint32_t>(rows_.places().size());
    parallel((rows + kRowsATask - 1) / kRowsATask, rows > kRowsATask, [&](uint32_t task, uint32_t) {
        for (RopeTable& table : memory_.rope_tables()) {
            const auto half = static_cast<uint32_t>(table.frequencies.size());
            const bool pairs = table.shape.style == RopeStyle::interleaved;
            for (uint32_t row = task * kRowsATask; row < std::min(rows, (task + 1) * kRowsATask); ++row) {
                float *cosines = table.cosines(row), *sines = table.sines(row);
                for (uint32_t i = 0; i < half; ++i) {
                    const double angle = rows_.places()[row].position * table.frequencies[i];
                    const uint32_t first = pairs ? 2 * i : i, second = pairs ? 2 * i + 1 : i + half;
                    const double magnitude = table.shape.magnitude;
                    cosines[first] = cosines[second] = static_cast<float>(std::cos(angle) * magnitude);
                    sines[second] = static_cast<float>(std::sin(angle) * magnitude);
                    sines[first] = -sines[second];
                }
            }
        }
    });
}

}  // namespace takt::cpu
