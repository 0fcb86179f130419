// Finds the ISA level of this CPU by CPUID, and by XCR0 whether the operating system saves its registers.
#include "cpu/cpu_features.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace takt::cpu {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"scalar", "avx2", "avx512", "avx512_vnni"};

#if defined(__x86_64__)
struct Registers {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
    Registers r;
    if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
    return r;
}

constexpr bool has(uint32_t bits, std::initializer_list<int> wanted) {
    for (const int bit : wanted) {
        if (((bits >> bit) & 1u) == 0) return false;
    }
    return true;
}

// Which registers the operating system saves. Only callable where CPUID says OSXSAVE.
uint32_t saved_registers() {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif

}  // namespace

std::string_view isa_name(IsaLevel level) {
    return kNames[static_cast<size_t>(level)];
}

std::optional<IsaLevel> parse_isa(std::string_view name) {
    for (size_t i = 0; i < kNames.size(); ++i) {
        if (kNames[i] == name) return static_cast<IsaLevel>(i);
    }
    return std::nullopt;
}

IsaLevel detect_isa() {
#if defined(__x86_64__)
    const Registers basic = cpuid(1), extended = cpuid(7);
    // OSXSAVE, AVX, FMA, F16C; AVX2, BMI1, BMI2; XMM and YMM saved.
    const bool avx2 =
        has(basic.ecx, {27, 28, 12, 29}) && has(extended.ebx, {5, 3, 8}) && has(saved_registers(), {1, 2});
    if (!avx2) return IsaLevel::scalar;
    // F, DQ, BW, VL; mask registers and both parts of ZMM saved.
    const bool avx512 = has(extended.ebx, {16, 17, 30, 31}) && has(saved_registers(), {5, 6, 7});
    if (!avx512) return IsaLevel::avx2;
    return has(extended.ecx, {11}) ? IsaLevel::avx512_vnni : IsaLevel::avx512;
#else
    return IsaLevel::scalar;
#endif
}

std::vector<IsaLevel> available_isa_levels() {
    std::vector<IsaLevel> levels;
    for (auto i = static_cast<int>(detect_isa()); i >= 0; --i) levels.push_back(static_cast<IsaLevel>(i));
    return levels;
}

Result<IsaLevel> choose_isa(std::string_view cap) {
    const IsaLevel best = detect_isa();
    if (cap.empty()) return best;
    const std::optional<IsaLevel> level = parse_isa(cap);
    if (!level.has_value()) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("CPU ISA level \"{}\" isn't known; the levels are {}.", cap,
                                  fmt::join(kNames, ", ")));
    }
    return *level < best ? *level : best;
}

std::string cpu_brand_name() {
#if defined(__x86_64__)
    std::array<char, 49> text{};
    for (uint32_t i = 0; i < 3; ++i) {
        const Registers r = cpuid(0x80000002u + i);
        std::memcpy(text.data() + 16 * i, &r, 16);
    }
    const std::string name = text.data();
    const size_t first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
    return first == std::string::npos ? std::string() : name.substr(first, last - first + 1);
#else
    return {};
#endif
}

}  // namespace takt::cpu
