// What this CPU can run: the ISA levels the kernels are written for, found on the machine itself (CPUID and
// XCR0, or the system's list on Arm), never by the build host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace takt::cpu {

// Within an architecture from slow to fast. A CPU need not run every level below its best: most with
// avx512_vnni lack avx_vnni. So what counts is the list of levels a machine has.
enum class IsaLevel : uint8_t {
    scalar,
    // x86-64
    avx2,      // with FMA and F16C
    avx_vnni,  // 256-bit vpdpbusd, on client CPUs without AVX-512
    avx512,    // F, BW, VL, DQ
    avx512_vnni,
    // AArch64
    neon,          // what every Armv8.0 has
    neon_dotprod,  // sdot
    neon_i8mm,     // smmla
};

std::string_view isa_name(IsaLevel level);
std::optional<IsaLevel> parse_isa(std::string_view name);

// What decides about the levels, as the machine tells it, each feature with the registers the operating
// system saves for it.
struct CpuFeatures {
    bool avx2 = false, avx_vnni = false, avx512 = false, avx512_vnni = false;
    bool neon = false, dotprod = false, i8mm = false;
};
CpuFeatures detect_features();

// The levels a machine with these features runs, best first; scalar is always the last.
std::vector<IsaLevel> isa_levels_of(const CpuFeatures& features);
// Every level this machine runs, best first.
std::vector<IsaLevel> available_isa_levels();
// The best of them.
IsaLevel detect_isa();
// The best of `levels` (best first) not above `cap`; an empty cap means no cap. A name that isn't known, or
// that belongs to another architecture than this build, is refused and the right ones are named.
Result<IsaLevel> choose_isa(std::string_view cap,
                            const std::vector<IsaLevel>& levels = available_isa_levels());

// The CPU's own name ("AMD EPYC 9B45"), empty where the CPU tells none.
std::string cpu_brand_name();

}  // namespace takt::cpu
