// Counters of energy, load and governor, read from a made-up /sys and /proc.
#include <catch2/catch.hpp>

#include <string>

#include "base/energy_meter.h"
#include "temporary_folder.h"

namespace takt {
namespace {

class FakeSystem {
public:
    std::string root() const { return folder_.file("."); }
    void write(const std::string& path, const std::string& text) const {
        folder_.write(path.substr(1), text + "\n");
    }
    void domain(const std::string& folder, const std::string& name, uint64_t microjoules,
                uint64_t range) const {
        const std::string at = "/sys/class/powercap/" + folder;
        write(at + "/name", name);
        write(at + "/energy_uj", std::to_string(microjoules));
        write(at + "/max_energy_range_uj", std::to_string(range));
    }

private:
    test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("packages and their memory are counted, cores and other zones are not twice") {
    const FakeSystem system;
    system.domain("intel-rapl:0", "package-0", 1000, 1'000'000);
    system.domain("intel-rapl:0:0", "core", 700, 1'000'000);
    system.domain("intel-rapl:0:1", "dram", 50, 1'000'000);
    system.domain("intel-rapl:1", "package-1", 5000, 1'000'000);
    system.domain("intel-rapl-mmio:0", "package-0", 9, 1'000'000);
    EnergyMeter meter(system.root());
    REQUIRE(meter.is_readable());
    CHECK(meter.method() == "rapl (powercap): package-0, package-0 dram, package-1");
    CHECK(meter.microjoules() == 0);  // since it was made
    system.domain("intel-rapl:0", "package-0", 1400, 1'000'000);
    system.domain("intel-rapl:0:0", "core", 1000, 1'000'000);
    system.domain("intel-rapl:0:1", "dram", 60, 1'000'000);
    CHECK(meter.microjoules() == 410);
    CHECK(meter.microjoules() == 410);
}

TEST_CASE("a counter that goes around goes on") {
    const FakeSystem system;
    system.domain("intel-rapl:0", "package-0", 999'900, 1'000'000);
    EnergyMeter meter(system.root());
    system.domain("intel-rapl:0", "package-0", 40, 1'000'000);
    CHECK(meter.microjoules() == 140);
    system.domain("intel-rapl:0", "package-0", 90, 1'000'000);
    CHECK(meter.microjoules() == 190);
}

TEST_CASE("where nothing can be read there is no energy, and nothing breaks") {
    const FakeSystem empty;
    EnergyMeter none(empty.root());
    CHECK_FALSE(none.is_readable());
    CHECK(none.method().empty());
    CHECK(none.microjoules() == 0);
    const FakeSystem locked;  // there, but without a number that may be read
    locked.write("/sys/class/powercap/intel-rapl:0/name", "package-0");
    CHECK_FALSE(EnergyMeter(locked.root()).is_readable());
    locked.write("/sys/class/powercap/intel-rapl:0/energy_uj", "soon");
    CHECK_FALSE(EnergyMeter(locked.root()).is_readable());
}

TEST_CASE("a counter that vanishes for a moment adds nothing") {
    const FakeSystem system;
    system.domain("intel-rapl:0", "package-0", 100, 1'000'000);
    EnergyMeter meter(system.root());
    system.write("/sys/class/powercap/intel-rapl:0/energy_uj", "?");
    CHECK(meter.microjoules() == 0);
    system.domain("intel-rapl:0", "package-0", 160, 1'000'000);
    CHECK(meter.microjoules() == 60);
}

TEST_CASE("load and governor are as the system says, or unknown") {
    const FakeSystem system;
    CHECK_FALSE(os::load_average(system.root()));
    CHECK(os::cpu_governor(system.root()).empty());
    system.write("/proc/loadavg", "0.52 1.00 2.00 1/100 4711");
    system.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
    CHECK(os::load_average(system.root()) == 0.52);
    CHECK(os::cpu_governor(system.root()) == "powersave");
}

}  // namespace takt
