// Every weight of a program as float32, read and dequantized once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "base/aligned_buffer.h"
#include "program/program.h"

namespace takt::reference {

class ReferenceWeights final : public PackedWeights {
public:
    static Result<std::shared_ptr<const PackedWeights>> load(const Program& program,
                                                             const WeightSource& source,
                                                             const LoadProgress& progress);

    uint64_t size_bytes() const override;
    // [rows][columns] of the declaration; nullptr for an invalid id (no bias, no factors).
    const float* data(WeightId id) const;

private:
    std::vector<AlignedBuffer> buffers_;  // by WeightId::index
};

// Bytes as float32.
uint64_t float_bytes(const Program& program);

}  // namespace takt::reference
