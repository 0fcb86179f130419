// Ops with recurrent state: row after row, each from the state that the one before left. A slot changes in
// commit() alone.
#include <algorithm>
#include <cstring>

#include "backend/state_form.h"
#include "reference/reference_executable.h"
#include "reference/reference_ops.h"

namespace takt::reference {

void ReferenceExecutable::remember_slots(const StepBatch& batch) {
    if (program_->recurrent_states.empty()) return;
    slots_.clear();
    for (const BatchSequence& sequence : batch.sequences) {
        for (size_t g = 0; g < program_->groups.size(); ++g)
            slots_.push_back(program_->groups[g].recurrent ? sequence.block_tables[g][0] : kNoPage);
    }
}

std::span<float> ReferenceExecutable::slot_floats(RecurrentStateId state, uint32_t slot) {
    const size_t n = program_->state(state).n_floats;
    return memory_.recurrent(state).slots.as<float>().subspan(slot * n, n);
}

std::span<float> ReferenceExecutable::row_floats(RecurrentStateId state, uint32_t sequence, uint32_t row) {
    const size_t n = program_->state(state).n_floats;
    const size_t place = size_t{sequence} * kStatesKept + row % kStatesKept;
    return memory_.recurrent(state).rows.as<float>().subspan(place * n, n);
}

// Calls body with each row of the batch and its state, which holds the state before it; empty: zeros.
template <typename Body>
void ReferenceExecutable::each_row_in_order(RecurrentStateId state, Body body) {
    const uint32_t group = program_->state(state).group;
    parallel(static_cast<uint32_t>(batch_->sequences.size()), [&](uint32_t s, uint32_t) {
        const BatchSequence& sequence = batch_->sequences[s];
        for (uint32_t i = 0; i < sequence.n_rows; ++i) {
            const std::span<float> own = row_floats(state, s, i);
            if (sequence.first_position + i == 0) {
                std::ranges::fill(own, 0.0f);
            } else {
                const uint32_t slot = sequence.block_tables[group][0];
                std::ranges::copy(i == 0 ? slot_floats(state, slot) : row_floats(state, s, i - 1),
                                  own.begin());
            }
            body(sequence.first_row + i, own);
        }
    });
}

void ReferenceExecutable::run_op(const ShortConvOp& op) {
    const WeightDecl& decl = program_->weight(op.weight);
    const MatrixView weight{weights_->data(op.weight), decl.rows, decl.columns};
    each_row_in_order(op.state, [&](uint32_t row, std::span<float> state) {
        short_conv_row(weight, memory_.row(op.in, row), state, memory_.row(op.out, row));
    });
}

void ReferenceExecutable::run_op(const GatedRecurrenceOp& op) {
    each_row_in_order(op.state, [&](uint32_t row, std::span<float> state) {
        gated_recurrence_row(memory_.row(op.gate, row), memory_.row(op.in, row), state);
        std::ranges::copy(state, memory_.row(op.out, row).begin());
    });
}

void ReferenceExecutable::run_op(const GatedDeltaOp& op) {
    each_row_in_order(op.state, [&](uint32_t row, std::span<float> state) {
        const DeltaRow inputs{memory_.row(op.qkv, row), memory_.row(op.decay, row), memory_.row(op.beta, row),
                              weights_->data(op.rate), weights_->data(op.decay_bias)};
        gated_delta_row(op, inputs, state, memory_.row(op.out, row));
    });
}

Status ReferenceExecutable::commit(uint64_t sequence, uint32_t rows_kept) {
    if (program_->recurrent_states.empty()) return rows_.check_commit(sequence, rows_kept);
    const Result<uint32_t> index = recurrent_commit(rows_, sequence, rows_kept);
    if (!index.ok()) return index.status();
    if (rows_kept == 0) return {};
    for (uint32_t i = 0; i < program_->recurrent_states.size(); ++i) {
        const size_t group = program_->recurrent_states[i].group;
        std::ranges::copy(row_floats({i}, *index, rows_kept - 1),
                          slot_floats({i}, slots_[*index * program_->groups.size() + group]).begin());
    }
    return {};
}

Status ReferenceExecutable::read_recurrent(const RecurrentRange& range, std::span<std::byte> out) {
    TAKT_RETURN_IF_ERROR(check_recurrent_range(*program_, options_, range, out.size()));
    std::memcpy(out.data(), slot_floats(range.state, range.slot).data() + range.first, out.size());
    return {};
}

Status ReferenceExecutable::write_recurrent(const RecurrentRange& range, std::span<const std::byte> in) {
    TAKT_RETURN_IF_ERROR(check_recurrent_range(*program_, options_, range, in.size()));
    std::memcpy(slot_floats(range.state, range.slot).data() + range.first, in.data(), in.size());
    return {};
}

}  // namespace takt::reference
