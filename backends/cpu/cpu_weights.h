// The weights of a program as the CPU kernels read them: matrices in packed panels, vectors as float32.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "base/aligned_buffer.h"
#include "cpu/kernels/packed_matrix.h"
#include "program/program.h"

namespace takt::cpu {

class CpuWeights final : public PackedWeights {
public:
    // Reads and packs every weight, window by window. `progress` counts bytes of the file.
    static Result<std::shared_ptr<const PackedWeights>> load(const Program& program,
                                                             const WeightSource& source, ThreadPool& pool,
                                                             const LoadProgress& progress);
    // What load() would hold; the error names a weight that can't be packed.
    static Result<uint64_t> planned_bytes(const Program& program);

    uint64_t size_bytes() const override;
    std::optional<uint64_t> bytes_of(WeightId id) const override {
        const uint64_t matrix = matrices_[id.index].size_bytes();
        return matrix != 0 ? matrix : vectors_[id.index].size_bytes();
    }
    // Of a weight that matmul or embed reads.
    const PackedMatrix& matrix(WeightId id) const { return matrices_[id.index]; }
    // Of a weight that another op reads, or a bias; nullptr for an invalid id.
    const float* vector(WeightId id) const {
        return id.valid() ? vectors_[id.index].as<float>().data() : nullptr;
    }

private:
    std::vector<PackedMatrix> matrices_;  // by WeightId::index; a tied head is one of them
    std::vector<AlignedBuffer> vectors_;
};

}  // namespace takt::cpu
