// The weights of a program as the CPU kernels read them: matrices in packed panels, vectors as float32.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/os.h"
#include "cpu/kernels/packed_matrix.h"
#include "cpu/weight_layout.h"
#include "program/program.h"

namespace takt::cpu {

class CpuWeights final : public PackedWeights {
public:
    // Maps the packed weights that the cache's folder holds, or reads and packs every weight and leaves them
    // there. The progress counts bytes of the model's file. `logger` may be nullptr.
    static Result<std::shared_ptr<const PackedWeights>> load(const Program& program,
                                                             const WeightSource& source, ThreadPool& pool,
                                                             const LoadOptions& options,
                                                             const Logger* logger = nullptr);
    // What load() would hold; the error names a weight that can't be packed.
    static Result<uint64_t> planned_bytes(const Program& program);

    uint64_t size_bytes() const override { return block_.size(); }
    // All of them, as layout_weights() places them.
    std::span<const std::byte> block() const { return block_; }
    // Of matrices; vectors are read as they are in the file.
    std::optional<uint64_t> bytes_of(WeightId id) const override {
        const uint64_t bytes = matrices_[id.index].size_bytes();
        return bytes != 0 ? std::optional<uint64_t>(bytes) : std::nullopt;
    }
    // Of a weight that matmul or embed reads.
    const PackedMatrix& matrix(WeightId id) const { return matrices_[id.index]; }
    // Of a weight that another op reads, or a bias; nullptr for an invalid id.
    const float* vector(WeightId id) const { return id.valid() ? vectors_[id.index] : nullptr; }

private:
    CpuWeights(const Program& program, const WeightLayout& layout, os::Mapping memory,
               std::span<const std::byte> block);

    os::Mapping memory_;                  // own, or a cache file's
    std::span<const std::byte> block_;    // all weights, one behind the other
    std::vector<PackedMatrix> matrices_;  // by WeightId::index; a tied head is one of them
    std::vector<const float*> vectors_;
};

}  // namespace takt::cpu
