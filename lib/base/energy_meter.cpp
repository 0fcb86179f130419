// Differences of wrapping counters, added up.
#include "base/energy_meter.h"

#include <utility>

namespace takt {

EnergyMeter::EnergyMeter(std::string root) : root_(std::move(root)), last_(os::energy_counters(root_)) {
    for (const os::EnergyCounter& counter : last_)
        method_ += (method_.empty() ? "rapl (powercap): " : ", ") + counter.name;
}

uint64_t EnergyMeter::microjoules() {
    if (!is_readable()) return 0;
    const std::lock_guard lock(mutex_);
    const std::vector<os::EnergyCounter> now = os::energy_counters(root_);
    if (now.size() != last_.size()) return total_;  // for a moment unreadable
    for (size_t i = 0; i < now.size(); ++i) {
        const uint64_t before = last_[i].microjoules, after = now[i].microjoules;
        if (after >= before) {
            total_ += after - before;
        } else if (now[i].range > before) {
            total_ += now[i].range - before + after;
        }
    }
    last_ = now;
    return total_;
}

}  // namespace takt
