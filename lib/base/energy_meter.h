// Energy that the machine has used since the meter was made, where the system shows it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/os.h"

namespace takt {

// Thread-safe. Whatever runs on the machine counts.
class EnergyMeter {
public:
    explicit EnergyMeter(std::string root = "");

    bool is_readable() const { return !method_.empty(); }
    // What is counted: "rapl (powercap): package-0, package-0 dram"; "" where nothing can be read.
    const std::string& method() const { return method_; }
    // Must be asked before a counter has gone around twice, which takes half an hour at full power.
    uint64_t microjoules();

private:
    const std::string root_;
    std::string method_;
    std::mutex mutex_;
    std::vector<os::EnergyCounter> last_;
    uint64_t total_ = 0;
};

}  // namespace takt
