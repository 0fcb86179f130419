// Where a backend reads the weights of a program from. Implemented by the model; backends see only this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "tensor/dtype.h"

namespace takt {

// What tells that a file is still the one that something was made of.
struct SourceIdentity {
    uint64_t size_bytes = 0;
    int64_t modified_ns = 0;
};

class WeightSource {
public:
    virtual ~WeightSource() = default;
    // Tells models apart in the weight store.
    virtual uint64_t fingerprint() const = 0;
    virtual uint64_t instance() const = 0;  // unique per loaded model of this process
    // Nothing for a source that isn't a file.
    virtual std::optional<SourceIdentity> identity() const { return std::nullopt; }
    // Positioned read of the tensor's bytes; thread-safe. A short file is file_truncated.
    virtual Status read(std::string_view weight, uint64_t offset_bytes, std::span<std::byte> out) const = 0;
};

}  // namespace takt
