// The ladder of ISA levels, on this machine and on ones it stands for.
#include "cpu/cpu_features.h"

#include <catch2/catch.hpp>

#include "cpu/kernels/kernel_choice.h"

using namespace takt::cpu;

namespace {

constexpr IsaLevel kAllLevels[] = {IsaLevel::scalar,       IsaLevel::avx2,        IsaLevel::avx_vnni,
                                   IsaLevel::avx512,       IsaLevel::avx512_vnni, IsaLevel::neon,
                                   IsaLevel::neon_dotprod, IsaLevel::neon_i8mm};

using Levels = std::vector<IsaLevel>;

Levels x86_levels(bool avx_vnni, bool avx512, bool avx512_vnni) {
    CpuFeatures features;
    features.avx2 = true;
    features.avx_vnni = avx_vnni;
    features.avx512 = avx512;
    features.avx512_vnni = avx512_vnni;
    return isa_levels_of(features);
}

Levels arm_levels(bool dotprod, bool i8mm) {
    CpuFeatures features;
    features.neon = true;
    features.dotprod = dotprod;
    features.i8mm = i8mm;
    return isa_levels_of(features);
}

}  // namespace

TEST_CASE("every ISA level has a name that parses back to it") {
    for (const IsaLevel level : kAllLevels) REQUIRE(parse_isa(isa_name(level)) == level);
    REQUIRE_FALSE(parse_isa("sse9").has_value());
    REQUIRE_FALSE(parse_isa("").has_value());
}

TEST_CASE("the levels of this machine run down from the detected one to scalar") {
    const Levels levels = available_isa_levels();
    REQUIRE(levels.front() == detect_isa());
    REQUIRE(levels.back() == IsaLevel::scalar);
    for (size_t i = 1; i < levels.size(); ++i) REQUIRE(levels[i] < levels[i - 1]);
}

TEST_CASE("the ladder holds exactly the levels whose features are there") {
    using enum IsaLevel;
    CHECK(isa_levels_of({}) == Levels{scalar});
    CHECK(x86_levels(false, false, false) == Levels{avx2, scalar});
    CHECK(x86_levels(true, false, false) == Levels{avx_vnni, avx2, scalar});            // Alder Lake
    CHECK(x86_levels(false, true, false) == Levels{avx512, avx2, scalar});              // Skylake server
    CHECK(x86_levels(false, true, true) == Levels{avx512_vnni, avx512, avx2, scalar});  // Ice Lake, Zen 4
    CHECK(x86_levels(true, true, true) == Levels{avx512_vnni, avx512, avx_vnni, avx2, scalar});  // Zen 5
    CHECK(arm_levels(false, false) == Levels{neon, scalar});                                     // Cortex-A53
    CHECK(arm_levels(true, false) == Levels{neon_dotprod, neon, scalar});            // Neoverse N1
    CHECK(arm_levels(true, true) == Levels{neon_i8mm, neon_dotprod, neon, scalar});  // Neoverse V1
}

TEST_CASE("a cap lowers the level, never raises it, and an unknown one is refused by name") {
    REQUIRE(*choose_isa("") == detect_isa());
    REQUIRE(*choose_isa("scalar") == IsaLevel::scalar);
    for (const IsaLevel level : available_isa_levels()) REQUIRE(*choose_isa(isa_name(level)) == level);
    const auto refused = choose_isa("mmx");
    REQUIRE_FALSE(refused.ok());
    REQUIRE(refused.status().code() == takt::StatusCode::invalid_argument);
    REQUIRE(refused.status().message().find("\"mmx\"") != std::string::npos);
    REQUIRE(refused.status().message().find("scalar") != std::string::npos);
}

#if defined(__x86_64__)
TEST_CASE("a cap at a level the CPU lacks takes the next one below that it has") {
    const Levels server = x86_levels(false, true, true), client = x86_levels(true, false, false),
                 both = x86_levels(true, true, true);
    CHECK(*choose_isa("avx_vnni", server) == IsaLevel::avx2);
    CHECK(*choose_isa("", server) == IsaLevel::avx512_vnni);
    CHECK(*choose_isa("avx512_vnni", client) == IsaLevel::avx_vnni);
    CHECK(*choose_isa("avx512", client) == IsaLevel::avx_vnni);
    CHECK(*choose_isa("avx2", client) == IsaLevel::avx2);
    CHECK(*choose_isa("avx_vnni", both) == IsaLevel::avx_vnni);
    CHECK(*choose_isa("avx512", both) == IsaLevel::avx512);
    const auto refused = choose_isa("neon", both);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.status().message() ==
          "CPU ISA level \"neon\" is another processor architecture's; here the levels are scalar, avx2, "
          "avx_vnni, "
          "avx512, avx512_vnni.");
}

TEST_CASE("a table has no kernel of a level the CPU lacks") {
    const auto q8_0 = static_cast<size_t>(PackedKind::q8_0);
    const Levels server = x86_levels(false, true, true), client = x86_levels(true, false, false),
                 both = x86_levels(true, true, true);
    const KernelTable avx2 = make_kernel_table(IsaLevel::avx2, both);
    const KernelTable avx_vnni = make_kernel_table(IsaLevel::avx_vnni, both);
    REQUIRE(avx_vnni.matmul[q8_0] != avx2.matmul[q8_0]);
    CHECK(avx_vnni.quantize_row == avx2.quantize_row);
    CHECK(make_kernel_table(IsaLevel::avx_vnni, server).matmul[q8_0] == avx2.matmul[q8_0]);
    // A client's best table, asked for by any level above.
    const KernelTable best = make_kernel_table(IsaLevel::avx512_vnni, client);
    CHECK(best.matmul[q8_0] == avx_vnni.matmul[q8_0]);
    CHECK(best.rows.attend == avx2.rows.attend);
    CHECK(make_kernel_table(IsaLevel::avx512_vnni, server).matmul[q8_0] ==
          make_kernel_table(IsaLevel::avx512_vnni, both).matmul[q8_0]);
    CHECK(make_kernel_table(IsaLevel::avx512_vnni, Levels{}).matmul[q8_0] ==
          make_kernel_table(IsaLevel::scalar, both).matmul[q8_0]);
}
#elif defined(__aarch64__)
TEST_CASE("a cap at a level the CPU lacks takes the next one below that it has") {
    CHECK(*choose_isa("neon_i8mm", arm_levels(true, false)) == IsaLevel::neon_dotprod);
    CHECK(*choose_isa("neon_dotprod", arm_levels(false, false)) == IsaLevel::neon);
    CHECK(*choose_isa("neon", arm_levels(true, true)) == IsaLevel::neon);
    const auto refused = choose_isa("avx2", arm_levels(true, true));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.status().message() ==
          "CPU ISA level \"avx2\" is another processor architecture's; here the levels are scalar, neon, "
          "neon_dotprod, neon_i8mm.");
}

TEST_CASE("a table has no kernel of a level the CPU lacks") {
    const auto q8_0 = static_cast<size_t>(PackedKind::q8_0);
    const Levels all = arm_levels(true, true);
    const KernelTable neon = make_kernel_table(IsaLevel::neon, all),
                      dotprod = make_kernel_table(IsaLevel::neon_dotprod, all),
                      i8mm = make_kernel_table(IsaLevel::neon_i8mm, all);
    REQUIRE(neon.matmul[q8_0] != dotprod.matmul[q8_0]);
    REQUIRE(dotprod.matmul[q8_0] != i8mm.matmul[q8_0]);
    CHECK(i8mm.quantize_row == neon.quantize_row);
    CHECK(make_kernel_table(IsaLevel::neon_i8mm, arm_levels(true, false)).matmul[q8_0] ==
          dotprod.matmul[q8_0]);
    CHECK(make_kernel_table(IsaLevel::neon_i8mm, arm_levels(false, false)).matmul[q8_0] == neon.matmul[q8_0]);
}
#endif
