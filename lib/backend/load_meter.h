// Tells a load's caller how far it is, in bytes of the file, and passes on the wish to stop.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "base/status.h"

namespace takt {

class LoadMeter {
public:
    LoadMeter(uint64_t total_bytes, const LoadProgress& report) : report_(report), total_(total_bytes) {}

    Status advance(uint64_t bytes) {
        done_ += bytes;
        if (!report_ || report_(done_, total_)) return {};
        return Status(StatusCode::cancelled, "Loading the weights was cancelled by the progress callback.");
    }

private:
    const LoadProgress& report_;
    uint64_t done_ = 0, total_ = 0;
};

// As it lies in the file.
inline uint64_t file_bytes(const WeightDecl& weight) {
    return row_bytes(weight.dtype, weight.columns) * weight.rows;
}

}  // namespace takt
