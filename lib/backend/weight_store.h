// Packed weights of one (backend, model, layout), made by the first to ask and shared, counted, by every
// executable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "base/status.h"
#include "program/op.h"

namespace takt {

// What a backend made of a model's weights; each backend derives its own.
class PackedWeights {
public:
    virtual ~PackedWeights() = default;
    virtual uint64_t size_bytes() const = 0;
    // Of one weight, in the form that a step reads; empty where that isn't known.
    virtual std::optional<uint64_t> bytes_of(WeightId) const { return std::nullopt; }
};

class WeightStore {
public:
    struct Key {
        std::string backend;
        uint64_t model_instance = 0;
        std::string layout;
        auto operator<=>(const Key&) const = default;
    };
    // Thread-safe; makers of the store run one at a time. A failed make leaves nothing behind.
    Result<std::shared_ptr<const PackedWeights>> get_or_make(
        const Key& key, const std::function<Result<std::shared_ptr<const PackedWeights>>()>& make);

private:
    std::mutex mutex_;
    std::map<Key, std::weak_ptr<const PackedWeights>> entries_;
};

}  // namespace takt
