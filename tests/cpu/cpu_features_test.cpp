#include "cpu/cpu_features.h"

#include <catch2/catch.hpp>

using namespace takt::cpu;

TEST_CASE("every ISA level has a name that parses back to it") {
    for (const IsaLevel level : {IsaLevel::scalar, IsaLevel::avx2, IsaLevel::avx512, IsaLevel::avx512_vnni}) {
        REQUIRE(parse_isa(isa_name(level)) == level);
    }
    REQUIRE_FALSE(parse_isa("sse9").has_value());
    REQUIRE_FALSE(parse_isa("").has_value());
}

TEST_CASE("the levels of this machine run down from the detected one to scalar") {
    const std::vector<IsaLevel> levels = available_isa_levels();
    REQUIRE(levels.front() == detect_isa());
    REQUIRE(levels.back() == IsaLevel::scalar);
    for (size_t i = 1; i < levels.size(); ++i) REQUIRE(levels[i] < levels[i - 1]);
}

TEST_CASE("a cap lowers the level, never raises it, and an unknown one is refused by name") {
    REQUIRE(*choose_isa("") == detect_isa());
    REQUIRE(*choose_isa("scalar") == IsaLevel::scalar);
    REQUIRE(*choose_isa("avx512_vnni") <= detect_isa());
    const auto refused = choose_isa("mmx");
    REQUIRE_FALSE(refused.ok());
    REQUIRE(refused.status().code() == takt::StatusCode::invalid_argument);
    REQUIRE(refused.status().message().find("\"mmx\"") != std::string::npos);
    REQUIRE(refused.status().message().find("avx512_vnni") != std::string::npos);
}
