// The weights of a program as the CPU kernels read them: matrices in packed panels, vectors as float32.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "base/os.h"
#include "cpu/kernels/packed_matrix.h"
#include "cpu/weight_layout.h"
#include "program/program.h"

namespace takt::cpu {

class CpuWeights final : public PackedWeights {
public:
    // Reads and packs every weight. `progress` counts bytes of the file.
    static Result<std::shared_ptr<const PackedWeights>> load(const Program& program,
                                                             const WeightSource& source, ThreadPool& pool,
                                                             const LoadProgress& progress);
    // What load() would hold; the error names a weight that can't be packed.
    static Result<uint64_t> planned_bytes(const Program& program);

    uint64_t size_bytes() const override { return block_.size_bytes(); }
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
    CpuWeights(const Program& program, const WeightLayout& layout, os::Mapping block);

    os::Mapping block_;                   // all weights, one behind the other
    std::vector<PackedMatrix> matrices_;  // by WeightId::index; a tied head is one of them
    std::vector<const float*> vectors_;
};

}  // namespace takt::cpu
