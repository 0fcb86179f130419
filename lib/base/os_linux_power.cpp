// What Linux tells of its load, its clock governor and, through powercap, of energy.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "base/os.h"
#include "base/os_linux_files.h"

namespace takt::os {
namespace {

std::optional<uint64_t> number_in(const std::string& path) {
    const std::string line = first_line(path);
    uint64_t value = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), value);
    return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

void add_counter(const std::string& folder, const std::string& name, std::vector<EnergyCounter>& counters) {
    const std::optional<uint64_t> now = number_in(folder + "/energy_uj");
    if (!now) return;  // there, but only root may read it
    counters.push_back({name, *now, number_in(folder + "/max_energy_range_uj").value_or(0)});
}

}  // namespace

std::optional<double> load_average(const std::string& root) {
    std::ifstream file(root + "/proc/loadavg");
    double load = 0;
    return file >> load ? std::optional(load) : std::nullopt;
}

std::string cpu_governor(const std::string& root) {
    return first_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
}

// Packages are intel-rapl:0, intel-rapl:1, … (on AMD too), their parts intel-rapl:0:0, …
std::vector<EnergyCounter> energy_counters(const std::string& root) {
    namespace fs = std::filesystem;
    std::vector<std::string> folders;
    std::error_code error;
    for (fs::directory_iterator it(root + "/sys/class/powercap", error), end; !error && it != end;
         it.increment(error)) {
        if (it->path().filename().string().starts_with("intel-rapl:")) folders.push_back(it->path().string());
    }
    std::ranges::sort(folders);
    std::vector<EnergyCounter> counters;
    for (const std::string& folder : folders) {
        const std::string name = first_line(folder + "/name");
        if (name.starts_with("package-")) {
            add_counter(folder, name, counters);
        } else if (name == "dram") {
            const std::string package = folder.substr(0, folder.rfind(':'));
            add_counter(folder, fmt::format("{} dram", first_line(package + "/name")), counters);
        }
    }
    return counters;
}

}  // namespace takt::os
