// Interprets a program op by op over a step batch.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/batch_rows.h"
#include "reference/reference_memory.h"
#include "reference/reference_weights.h"

namespace takt::reference {

class ReferenceExecutable final : public Executable {
public:
    ReferenceExecutable(std::shared_ptr<const Program> program,
                        std::shared_ptr<const ReferenceWeights> weights, const CompileOptions& options,
                        ReferenceMemory memory, ThreadPool* pool);

    Result<StepOutput> run(const StepBatch& batch) override;
    Status commit(uint64_t sequence, uint32_t rows_kept) override;
    Status copy_page(uint32_t group, uint32_t from_page, uint32_t to_page) override;
    std::optional<DType> kv_dtype() const override { return options_.kv_dtype.value_or(DType::f32); }
    Status read_state(const StateRange& range, std::span<std::byte> out) override;
    Status write_state(const StateRange& range, std::span<const std::byte> in) override;
    Status read_recurrent(const RecurrentRange& range, std::span<std::byte> out) override;
    Status write_recurrent(const RecurrentRange& range, std::span<const std::byte> in) override;
    Status observe_products(ProductObserver observer) override;
    MemoryPlan memory() const override;

private:
    StepOutput collect(const StepBatch& batch);
    uint32_t n_rows(ValueId value) const;
    // Where the row's sequence keeps `position` of this state: an index into its positions of all pages.
    size_t slot_of(const KvStateDecl& state, uint32_t sequence, uint32_t position) const;
    size_t slot_of(BlockTable table, uint32_t position) const;
    template <typename Bytes, typename Body>
    void each_row(const StateRange& range, Bytes bytes, Body body);
    void attend_head(const AttentionOp& op, uint32_t row, uint32_t head, std::span<double> scores);
    // Positions that the row sees: [first, first + second).
    std::pair<uint32_t, uint32_t> seen_by(const AttentionOp& op, uint32_t row) const;
    void run_expert(const ExpertFfnOp& op, uint32_t expert, std::span<const float> in, double weight,
                    std::span<double> sum);

    void run_op(const EmbedOp& op);
    void run_op(const PositionEmbedOp& op);
    void run_op(const RmsNormOp& op);
    void run_op(const LayerNormOp& op);
    void run_op(const MatmulOp& op);
    void run_op(const RopeOp& op);
    void run_op(const PositionScaleOp& op);
    void run_op(const KvAppendOp& op);
    void run_op(const AttentionOp& op);
    void run_op(const ShortConvOp& op);
    void run_op(const GatedRecurrenceOp& op);
    void run_op(const GatedDeltaOp& op);
    void run_op(const GatedActivationOp& op);
    void run_op(const ActivationOp& op);
    void run_op(const RouteOp& op);
    void run_op(const ExpertFfnOp& op);
    void run_op(const AddOp& op);
    void run_op(const AddWeightOp& op);
    void run_op(const ScaleOp& op);
    void run_op(const SliceOp& op);
    void run_op(const SoftCapOp& op);
    void run_op(const SelectRowsOp& op);
    // reference_recurrent.cpp
    void remember_slots(const StepBatch& batch);
    std::span<float> slot_floats(RecurrentStateId state, uint32_t slot);
    std::span<float> row_floats(RecurrentStateId state, uint32_t sequence, uint32_t row);
    template <typename Body>
    void each_row_in_order(RecurrentStateId state, Body body);

    void parallel(uint32_t n_tasks, FunctionRef<void(uint32_t task, uint32_t worker)> body);

    std::shared_ptr<const Program> program_;
    std::shared_ptr<const ReferenceWeights> weights_;
    CompileOptions options_;
    ReferenceMemory memory_;
    ThreadPool* pool_;

    void tell_observer(const MatmulOp& op);
    ProductObserver observer_;
    std::vector<float> observed_;  // rows for it

    const StepBatch* batch_ = nullptr;  // only while running
    BatchRows rows_;                    // of the last batch
    std::vector<uint32_t> slots_;       // the same, [sequence][group], where there is recurrent state
    std::vector<int32_t> argmax_;
};

}  // namespace takt::reference
