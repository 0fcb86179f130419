// One block for all weights of a program, and what the ops see of it.
#include "cpu/cpu_weights.h"

#include "cpu/weight_loader.h"

namespace takt::cpu {

CpuWeights::CpuWeights(const Program& program, const WeightLayout& layout, os::Mapping block)
    : block_(std::move(block)), matrices_(layout.places.size()), vectors_(layout.places.size()) {
    const os::Mapping& bytes = block_;
    for (size_t i = 0; i < layout.places.size(); ++i) {
        const WeightDecl& weight = program.weights[i];
        const WeightPlace& place = layout.places[i];
        if (place.matrix) {
            matrices_[i] = PackedMatrix::over(weight.dtype, weight.rows, weight.columns,
                                              bytes.data() + place.matrix_offset);
        }
        if (place.vector) vectors_[i] = reinterpret_cast<const float*>(bytes.data() + place.vector_offset);
    }
}

Result<std::shared_ptr<const PackedWeights>> CpuWeights::load(const Program& program,
                                                              const WeightSource& source, ThreadPool& pool,
                                                              const LoadProgress& progress) {
    const Result<WeightLayout> layout = layout_weights(program);
    if (!layout.ok()) return layout.status();
    // Huge pages: decode gains 8 to 12 % (SmolLM2 and Qwen2.5-Coder-1.5B, 2 cores with AVX-512 VNNI).
    Result<os::Mapping> block = os::map_zeros(layout->total_bytes);
    if (!block.ok()) return block.status().with_context("Loading the weights");
    TAKT_RETURN_IF_ERROR(load_weights(program, *layout, source, pool, progress, block->data()));
    return std::shared_ptr<const PackedWeights>(new CpuWeights(program, *layout, std::move(*block)));
}

Result<uint64_t> CpuWeights::planned_bytes(const Program& program) {
    const Result<WeightLayout> layout = layout_weights(program);
    if (!layout.ok()) return layout.status();
    return layout->total_bytes;
}

}  // namespace takt::cpu
