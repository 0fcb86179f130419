// Which values an op reads and which one it writes: what checking, liveness and scheduling need of every op.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "program/op.h"

namespace takt {

struct Operands {
    std::array<ValueId, 3> reads{};
    uint32_t n_reads = 0;
    ValueId write{};  // invalid for kv_append, which writes pages alone

    std::span<const ValueId> read_values() const { return {reads.data(), n_reads}; }
};

Operands operands(const Op& op);

}  // namespace takt
