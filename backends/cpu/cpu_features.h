// What this CPU can run: the ISA levels the kernels are written for, found by CPUID and XCR0, never by the
// build host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace takt::cpu {

// Ascending: a CPU of one level runs every level below it.
enum class IsaLevel : uint8_t {
    scalar,
    avx2,    // with FMA and F16C
    avx512,  // F, BW, VL, DQ
    avx512_vnni,
};

std::string_view isa_name(IsaLevel level);
std::optional<IsaLevel> parse_isa(std::string_view name);

// The best level that both the CPU and the operating system (saved registers) allow.
IsaLevel detect_isa();
// Every level this machine runs, best first.
std::vector<IsaLevel> available_isa_levels();
// The best level not above `cap`; an empty cap means no cap, an unknown name is refused and the known ones
// are named.
Result<IsaLevel> choose_isa(std::string_view cap);

// The CPU's own name ("AMD EPYC 9B45"), empty where the CPU tells none.
std::string cpu_brand_name();

}  // namespace takt::cpu
