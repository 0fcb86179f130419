// Finds the ISA levels of this CPU: by CPUID, and by XCR0 whether the operating system saves its registers;
// on Arm as the system lists them.
#include "cpu/cpu_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

#include "base/os.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace takt::cpu {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"scalar",      "avx2", "avx_vnni",     "avx512",
                                                    "avx512_vnni", "neon", "neon_dotprod", "neon_i8mm"};

// Those that this build has kernels for.
#if defined(__x86_64__)
constexpr std::array kBuiltLevels = {IsaLevel::scalar, IsaLevel::avx2, IsaLevel::avx_vnni, IsaLevel::avx512,
                                     IsaLevel::avx512_vnni};
#elif defined(__aarch64__)
constexpr std::array kBuiltLevels = {IsaLevel::scalar, IsaLevel::neon, IsaLevel::neon_dotprod,
                                     IsaLevel::neon_i8mm};
#else
constexpr std::array kBuiltLevels = {IsaLevel::scalar};
#endif

std::string built_names() {
    std::vector<std::string_view> names;
    for (const IsaLevel level : kBuiltLevels) names.push_back(isa_name(level));
    return fmt::format("{}", fmt::join(names, ", "));
}

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

CpuFeatures detect_features() {
    CpuFeatures features;
#if defined(__x86_64__)
    const Registers basic = cpuid(1), extended = cpuid(7);
    // OSXSAVE, AVX, FMA, F16C; AVX2, BMI1, BMI2; XMM and YMM saved.
    features.avx2 =
        has(basic.ecx, {27, 28, 12, 29}) && has(extended.ebx, {5, 3, 8}) && has(saved_registers(), {1, 2});
    if (!features.avx2) return features;
    // EAX of leaf 7 counts its further subleaves.
    features.avx_vnni = extended.eax >= 1 && has(cpuid(7, 1).eax, {4});
    // F, DQ, BW, VL; mask registers and both parts of ZMM saved.
    features.avx512 = has(extended.ebx, {16, 17, 30, 31}) && has(saved_registers(), {5, 6, 7});
    features.avx512_vnni = features.avx512 && has(extended.ecx, {11});
#elif defined(__aarch64__)
    const os::ArmFeatures arm = os::arm_features();
    features.neon = arm.asimd;
    features.dotprod = arm.asimd && arm.asimd_dotprod;
    features.i8mm = features.dotprod && arm.i8mm;
#endif
    return features;
}

std::vector<IsaLevel> isa_levels_of(const CpuFeatures& features) {
    std::vector<IsaLevel> levels;
    const auto add_if = [&](bool there, IsaLevel level) {
        if (there) levels.push_back(level);
    };
    add_if(features.i8mm, IsaLevel::neon_i8mm);
    add_if(features.dotprod, IsaLevel::neon_dotprod);
    add_if(features.neon, IsaLevel::neon);
    add_if(features.avx512_vnni, IsaLevel::avx512_vnni);
    add_if(features.avx512, IsaLevel::avx512);
    add_if(features.avx_vnni, IsaLevel::avx_vnni);
    add_if(features.avx2, IsaLevel::avx2);
    levels.push_back(IsaLevel::scalar);
    return levels;
}

std::vector<IsaLevel> available_isa_levels() {
    return isa_levels_of(detect_features());
}

IsaLevel detect_isa() {
    return available_isa_levels().front();
}

Result<IsaLevel> choose_isa(std::string_view cap, const std::vector<IsaLevel>& levels) {
    if (cap.empty()) return levels.front();
    const std::optional<IsaLevel> level = parse_isa(cap);
    if (!level.has_value()) {
        return Status(
            StatusCode::invalid_argument,
            fmt::format("CPU ISA level \"{}\" isn't known; the levels are {}.", cap, built_names()));
    }
    if (std::find(kBuiltLevels.begin(), kBuiltLevels.end(), *level) == kBuiltLevels.end()) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("CPU ISA level \"{}\" is another processor architecture's; here the levels "
                                  "are {}.",
                                  cap, built_names()));
    }
    return *std::find_if(levels.begin(), levels.end(), [&](IsaLevel one) { return one <= *level; });
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
