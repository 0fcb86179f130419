// How many CPUs this process may use on Linux: its affinity mask, SMT siblings counted once, its cgroups'
// quota; and what Linux lists of an Arm CPU's instructions.
#include "base/os.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include <sched.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <fmt/format.h>

#include "base/os_linux_files.h"

namespace takt::os {
namespace {

constexpr uint32_t kNoQuota = UINT32_MAX;

std::vector<uint32_t> allowed_cpu_ids() {
    constexpr int kMostCpus = 1 << 16;
    std::vector<uint32_t> ids;
    // The kernel refuses a mask shorter than its own; the size is found by doubling.
    for (int n_cpus = CPU_SETSIZE; n_cpus <= kMostCpus; n_cpus *= 2) {
        const size_t size = CPU_ALLOC_SIZE(n_cpus);
        std::vector<unsigned long> words(size / sizeof(unsigned long));
        cpu_set_t* mask = reinterpret_cast<cpu_set_t*>(words.data());
        if (sched_getaffinity(0, size, mask) != 0) continue;
        for (int cpu = 0; cpu < n_cpus; ++cpu) {
            if (CPU_ISSET_S(cpu, size, mask)) ids.push_back(static_cast<uint32_t>(cpu));
        }
        break;
    }
    if (ids.empty()) ids.push_back(0);
    return ids;
}

// quota and period in microseconds; "max" and -1 mean none.
uint32_t whole_cpus(std::string_view quota, std::string_view period) {
    int64_t quota_us = 0;
    int64_t period_us = 0;
    const auto number = [](std::string_view text, int64_t& out) {
        return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{};
    };
    if (!number(quota, quota_us) || !number(period, period_us) || quota_us <= 0 || period_us <= 0)
        return kNoQuota;
    // Rounded down: a pool larger than its quota is stopped for the rest of every period, in the middle of a
    // step.
    return static_cast<uint32_t>(std::clamp<int64_t>(quota_us / period_us, 1, kNoQuota));
}

uint32_t quota_of_folder(const std::string& folder) {
    std::istringstream v2(first_line(folder + "/cpu.max"));
    std::string quota, period;
    if (v2 >> quota >> period) return whole_cpus(quota, period);
    return whole_cpus(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us"));
}

// The least quota of a group and its parents, of which each binds.
uint32_t quota_up_to_mount(const std::string& mount, std::string group) {
    uint32_t least = kNoQuota;
    while (true) {
        least = std::min(least, quota_of_folder(mount + group));
        const size_t slash = group.rfind('/');
        if (group.empty() || slash == std::string::npos) return least;
        group.resize(slash);
    }
}

}  // namespace

int current_cpu() {
    return sched_getcpu();
}

// Nothing is allocated: a worker calls it in the middle of a step.
void leave_cpu(int cpu) {
    cpu_set_t allowed;
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    cpu_set_t others = allowed;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
    sched_setaffinity(0, sizeof allowed, &allowed);  // moved by now; free to go where it likes
}

uint32_t allowed_cpus() {
    return static_cast<uint32_t>(allowed_cpu_ids().size());
}

uint32_t allowed_cores(const std::string& root) {
    std::set<std::string> cores;
    for (const uint32_t cpu : allowed_cpu_ids()) {
        std::string siblings = first_line(
            fmt::format("{}/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", root, cpu));
        // Without /sys every CPU counts as a core of its own.
        cores.insert(siblings.empty() ? fmt::format("cpu{}", cpu) : std::move(siblings));
    }
    return static_cast<uint32_t>(cores.size());
}

uint32_t cgroup_cpus(const std::string& root) {
    uint32_t least = kNoQuota;
    std::ifstream groups(root + "/proc/self/cgroup");
    // A line is "0::/group" for v2 and "4:cpu,cpuacct:/group" for v1. A container may not see its own group's
    // folder, only that of the mount, which the way up from the group reaches too.
    for (std::string line; std::getline(groups, line);) {
        const size_t first = line.find(':');
        const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        if (controllers.empty()) {
            least = std::min(least, quota_up_to_mount(root + "/sys/fs/cgroup", group));
        } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
            least = std::min(least, quota_up_to_mount(root + "/sys/fs/cgroup/cpu", group));
        }
    }
    return least;
}

ArmFeatures arm_features() {
#if defined(__aarch64__)
    // Bits of the kernel's interface (arch/arm64/include/uapi/asm/hwcap.h); older C headers lack the names.
    constexpr unsigned long kAsimd = 1ul << 1, kAsimdDotprod = 1ul << 20,
                            kI8mm = 1ul << 13;  // the last in HWCAP2
    const unsigned long words[] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    return {(words[0] & kAsimd) != 0, (words[0] & kAsimdDotprod) != 0, (words[1] & kI8mm) != 0};
#else
    return {};
#endif
}

}  // namespace takt::os
