// The store keeps weak references: weights live as long as an executable holds them.
#include "backend/weight_store.h"

namespace takt {

Result<std::shared_ptr<const PackedWeights>> WeightStore::get_or_make(
    const Key& key, const std::function<Result<std::shared_ptr<const PackedWeights>>()>& make) {
    const std::lock_guard lock(mutex_);  // held while making: a second asker waits instead of packing twice
    std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
    if (auto found = entries_.find(key); found != entries_.end()) {
        if (auto weights = found->second.lock()) return weights;
    }
    Result<std::shared_ptr<const PackedWeights>> made = make();
    if (made.ok()) entries_[key] = *made;
    return made;
}

}  // namespace takt
