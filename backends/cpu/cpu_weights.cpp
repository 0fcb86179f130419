// One block for all weights of a program, and what the ops see of it.
#include "cpu/cpu_weights.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "backend/load_meter.h"
#include "cpu/packed_cache.h"
#include "cpu/weight_loader.h"

namespace takt::cpu {

CpuWeights::CpuWeights(const Program& program, const WeightLayout& layout, os::Mapping memory,
                       std::span<const std::byte> block)
    : memory_(std::move(memory)),
      block_(block),
      matrices_(layout.places.size()),
      vectors_(layout.places.size()) {
    for (size_t i = 0; i < layout.places.size(); ++i) {
        const WeightDecl& weight = program.weights[i];
        const WeightPlace& place = layout.places[i];
        if (place.matrix) {
            matrices_[i] = PackedMatrix::over(weight.dtype, weight.rows, weight.columns,
                                              block_.data() + place.matrix_offset);
        }
        if (place.vector) vectors_[i] = reinterpret_cast<const float*>(block_.data() + place.vector_offset);
    }
}

Result<std::shared_ptr<const PackedWeights>> CpuWeights::load(const Program& program,
                                                              const WeightSource& source, ThreadPool& pool,
                                                              const LoadOptions& options,
                                                              const Logger* logger) {
    const Result<WeightLayout> layout = layout_weights(program);
    if (!layout.ok()) return layout.status();
    const auto note = [&](std::string_view text) {
        if (logger) logger->log(LogLevel::warning, text);
    };
    std::optional<PackedCache> cache;
    if (!options.packed_cache_dir.empty()) {
        Result<PackedCache> made = PackedCache::of(options.packed_cache_dir, program, *layout, source);
        if (made.ok()) cache = std::move(*made);
        if (!made.ok()) note(fmt::format("Packed weights are not kept: {}", made.status().message()));
    }
    if (cache) {
        Result<PackedCache::Mapped> mapped = cache->open(pool);
        if (mapped.ok()) {
            LoadMeter meter(layout->source_bytes, options.progress);
            TAKT_RETURN_IF_ERROR(meter.advance(layout->source_bytes));
            return std::shared_ptr<const PackedWeights>(
                new CpuWeights(program, *layout, std::move(mapped->file), mapped->block));
        }
        if (mapped.status().code() != StatusCode::file_not_found)
            note(fmt::format("Packed weights in {} are not used: {}.", cache->path(),
                             mapped.status().message()));
    }
    // Huge pages: decode gains 8 to 12 % (SmolLM2 and Qwen2.5-Coder-1.5B, 2 cores with AVX-512 VNNI).
    Result<os::Mapping> memory = os::map_zeros(layout->total_bytes);
    if (!memory.ok()) return memory.status().with_context("Loading the weights");
    TAKT_RETURN_IF_ERROR(load_weights(program, *layout, source, pool, options.progress, memory->data()));
    const std::span<const std::byte> block(std::as_const(*memory).data(), memory->size_bytes());
    if (cache) {
        if (const Status written = cache->write(block, pool); !written.ok())
            note(fmt::format("Packed weights are not kept: {}", written.message()));
    }
    return std::shared_ptr<const PackedWeights>(new CpuWeights(program, *layout, std::move(*memory), block));
}

Result<uint64_t> CpuWeights::planned_bytes(const Program& program) {
    const Result<WeightLayout> layout = layout_weights(program);
    if (!layout.ok()) return layout.status();
    return layout->total_bytes;
}

}  // namespace takt::cpu
