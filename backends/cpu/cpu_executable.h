// Runs the fused steps of a program over step batches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/batch_rows.h"
#include "cpu/cpu_features.h"
#include "cpu/cpu_memory.h"
#include "cpu/cpu_weights.h"
#include "cpu/kernels/kernel_table.h"
#include "cpu/step_plan.h"

namespace takt::cpu {

class CpuExecutable final : public Executable {
public:
    CpuExecutable(std::shared_ptr<const Program> program, std::shared_ptr<const CpuWeights> weights,
                  const CompileOptions& options, const KernelTable& kernels, IsaLevel level, StepPlan plan,
                  CpuMemory memory, ThreadPool& pool);

    Result<StepOutput> run(const StepBatch& batch) override;
    Result<std::vector<PartTime>> run_timed(const StepBatch& batch) override;
    Status commit(uint64_t sequence, uint32_t rows_kept) override;
    Status copy_page(uint32_t group, uint32_t from_page, uint32_t to_page) override;
    MemoryPlan memory() const override;

private:
    using Body = FunctionRef<void(uint32_t task, uint32_t worker)>;
    // Consecutive rows of one sequence whose attention is one task per key head.
    struct RowTile {
        uint32_t sequence, first_row, n_rows, first_position;
    };
    struct RowRange {
        uint32_t first, end;
    };

    // cpu_executable.cpp
    void begin(const StepBatch& batch);
    StepOutput collect(const StepBatch& batch);
    void find_argmax();
    uint32_t n_rows(RowDomain domain) const {
        return static_cast<uint32_t>(domain == RowDomain::tokens ? rows_.places().size()
                                                                 : rows_.outputs().size());
    }
    // On the caller alone where the work is worth less than waking the others.
    void parallel(uint32_t n_tasks, bool worth_it, Body body);

    // cpu_executable_rows.cpp
    void run_step(const RowStep& step);
    void run_op(const EmbedOp& op, RowRange rows, uint32_t worker);
    void run_op(const RmsNormOp& op, RowRange rows, uint32_t worker);
    void run_op(const RopeOp& op, RowRange rows, uint32_t worker);
    void run_op(const KvAppendOp& op, RowRange rows, uint32_t worker);
    void run_op(const GatedActivationOp& op, RowRange rows, uint32_t worker);
    void run_op(const AddOp& op, RowRange rows, uint32_t worker);
    void run_op(const ScaleOp& op, RowRange rows, uint32_t worker);
    void run_op(const SoftCapOp& op, RowRange rows, uint32_t worker);
    void run_op(const SelectRowsOp& op, RowRange rows, uint32_t worker);
    void run_op(const QuantizeOp& op, RowRange rows, uint32_t worker);
    void fill_rope_tables();
    void activate(Activation activation, const float* gate, const float* up, float* out, size_t n) const;

    // cpu_executable_products.cpp
    void run_step(const ProductStep& step);
    void run_step(const GatedStep& step);
    void multiply(const Product& product, RowRange rows, RowRange panels, float* out, size_t out_stride,
                  uint32_t worker);
    void gated_block(const GatedStep& step, RowRange rows, RowRange panels, uint32_t worker);
    // Quantizes columns [first, first + n) of a row, whole blocks of 32, in their place.
    void quantize_part(const float* x, const QuantizedRows& out, uint32_t row, uint32_t first,
                       uint32_t n) const;

    // cpu_executable_attention.cpp
    struct HeadTask;
    void run_step(const AttentionStep& step);
    void cut_tiles(uint32_t rows_a_tile);
    void run_whole(const AttentionStep& step);
    void run_shared(const AttentionStep& step);
    HeadTask head_task(const AttentionStep& step, const RowTile& tile, uint32_t kv_head, uint32_t worker);
    void attend_chunk(const HeadTask& task, uint32_t chunk, uint32_t read_end, float* states);
    void set_ahead(const HeadTask& task, uint32_t base, uint32_t end, AttentionTile& tile);
    void set_blocks(const HeadTask& task, uint32_t base, RowRange seen, AttentionTile& tile);
    void gather_block(const HeadTask& task, uint32_t first_position, RowRange seen, int block,
                      AttentionTile& tile);
    void finish_head(const HeadTask& task, uint32_t query, const float* state);
    void quantize_heads(const HeadTask& task);

    std::shared_ptr<const Program> program_;
    std::shared_ptr<const CpuWeights> weights_;
    CompileOptions options_;
    KernelTable kernels_;
    IsaLevel level_;
    StepPlan plan_;
    CpuMemory memory_;
    ThreadPool& pool_;

    const StepBatch* batch_ = nullptr;  // only while running
    BatchRows rows_;                    // of the last batch
    std::vector<int32_t> argmax_;
    std::vector<RowTile> tiles_;
};

}  // namespace takt::cpu
