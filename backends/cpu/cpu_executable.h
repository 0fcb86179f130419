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

// Tasks per thread: more of them share the work more evenly, but each is a claim. Decode of SmolLM2 with 2
// threads at 2, 3 and 6: 427, 429, 420 tokens/s, of Qwen2.5-Coder 1.5B 56, 58, 51; prefill alike (EPYC Zen 5,
// 2026-11, turn about).
inline constexpr uint32_t kTasksAThread = 3;

constexpr uint32_t ceil_div(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

class CpuExecutable final : public Executable {
public:
    CpuExecutable(std::shared_ptr<const Program> program, std::shared_ptr<const CpuWeights> weights,
                  const CompileOptions& options, const KernelTable& kernels, IsaLevel level, StepPlan plan,
                  CpuMemory memory, ThreadPool& pool);

    Result<StepOutput> run(const StepBatch& batch) override;
    Result<std::vector<PartTime>> run_timed(const StepBatch& batch) override;
    Status commit(uint64_t sequence, uint32_t rows_kept) override;
    Status copy_page(uint32_t group, uint32_t from_page, uint32_t to_page) override;
    std::optional<DType> kv_dtype() const override { return options_.kv_dtype.value_or(DType::f16); }
    Status read_state(const StateRange& range, std::span<std::byte> out) override;
    Status write_state(const StateRange& range, std::span<const std::byte> in) override;
    Status observe_products(ProductObserver observer) override;
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
    void run_step_at(size_t index);
    StepOutput collect(const StepBatch& batch);
    void find_argmax();
    template <typename Bytes, typename Visit>
    void each_head(const StateRange& range, Bytes bytes, Visit visit);
    uint32_t n_rows(RowDomain domain) const {
        return static_cast<uint32_t>(domain == RowDomain::tokens ? rows_.places().size()
                                                                 : rows_.outputs().size());
    }
    // On the caller alone where the work is worth less than waking the others.
    void parallel(uint32_t n_tasks, bool worth_it, Body body);

    // cpu_executable_rows.cpp, cpu_executable_plain_rows.cpp
    void run_step(const RowStep& step);
    void run_op(const EmbedOp& op, RowRange rows, uint32_t worker);
    void run_op(const PositionEmbedOp& op, RowRange rows, uint32_t worker);
    void run_op(const RmsNormOp& op, RowRange rows, uint32_t worker);
    void run_op(const LayerNormOp& op, RowRange rows, uint32_t worker);
    void run_op(const RopeOp& op, RowRange rows, uint32_t worker);
    void run_op(const PositionScaleOp& op, RowRange rows, uint32_t worker);
    void run_op(const KvAppendOp& op, RowRange rows, uint32_t worker);
    void run_op(const GatedActivationOp& op, RowRange rows, uint32_t worker);
    void run_op(const ActivationOp& op, RowRange rows, uint32_t worker);
    void run_op(const RouteOp& op, RowRange rows, uint32_t worker);
    void run_op(const AddOp& op, RowRange rows, uint32_t worker);
    void run_op(const AddWeightOp& op, RowRange rows, uint32_t worker);
    void run_op(const ScaleOp& op, RowRange rows, uint32_t worker);
    void run_op(const SliceOp& op, RowRange rows, uint32_t worker);
    void run_op(const SoftCapOp& op, RowRange rows, uint32_t worker);
    void run_op(const SelectRowsOp& op, RowRange rows, uint32_t worker);
    void run_op(const QuantizeOp& op, RowRange rows, uint32_t worker);
    void fill_rope_tables();
    void multiply_by_weight(const ScaleOp& op, float* row) const;
    void activate(Activation activation, const float* gate, const float* up, float* out, size_t n) const;

    // cpu_executable_products.cpp
    void run_step(const ProductStep& step);
    void run_step(const GatedStep& step);
    // How a region's panels and rows are cut into tasks.
    struct Cut {
        uint32_t panels_a_task, rows_a_task, n_groups, n_row_parts;
        uint32_t n_tasks() const { return n_groups * n_row_parts; }
    };
    struct Task {
        const Product* product;  // of a gated step: the gate
        RowRange rows, panels;
    };
    static Cut make_cut(uint32_t n_panels, uint32_t rows, uint32_t n_threads, uint32_t most_panels);
    Cut cut(const ProductStep& step) const;
    Cut cut(const GatedStep& step) const;
    Task task(const ProductStep& step, const Cut& parts, uint32_t index) const;
    Task task(const GatedStep& step, const Cut& parts, uint32_t index) const;
    uint32_t n_panels(const Product& product) const;
    const std::byte* weights_of(const Task& task) const;
    template <typename ProductsOrGated>
    const std::byte* weights_after(const ProductsOrGated& step, const Cut& parts, uint32_t index,
                                   uint32_t worker) const;
    // next: weights to ask for during the last tile.
    void multiply(const Product& product, RowRange rows, RowRange panels, float* out, size_t out_stride,
                  uint32_t worker, const std::byte* next);
    // Tells the observer, if there is one, what the product is going to read.
    void observe(const Product& product, RowDomain domain);
    void gated_block(const GatedStep& step, RowRange rows, RowRange panels, uint32_t worker,
                     const std::byte* after);
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
    void finish_head(const HeadTask& task, uint32_t query, float* state);
    void quantize_heads(const HeadTask& task);

    // cpu_executable_experts.cpp
    void run_step(const ExpertStep& step);
    void sort_by_expert(const ExpertStep& step);
    void gather_rows(const ExpertStep& step);
    struct ExpertProduct;
    void multiply_experts(const ExpertProduct& product, uint32_t n_experts);
    void sum_experts(const ExpertStep& step);

    std::shared_ptr<const Program> program_;
    std::shared_ptr<const CpuWeights> weights_;
    CompileOptions options_;
    KernelTable kernels_;
    IsaLevel level_;
    StepPlan plan_;
    CpuMemory memory_;
    ThreadPool& pool_;

    const StepBatch* batch_ = nullptr;        // only while running
    const Step* next_multiplying_ = nullptr;  // while running: the next product or gated step, or the first
    BatchRows rows_;                          // of the last batch
    std::vector<int32_t> argmax_;
    ProductObserver observer_;
    std::vector<float> observed_;  // rows for it
    std::vector<RowTile> tiles_;
    std::vector<float> ones_;  // the weight of norms that have none, the other factor of plain activations
};

}  // namespace takt::cpu
