// Files of results as runs leave them, and how two of them are matched.
#include <catch2/catch.hpp>

#include <string>

#include "numbers/result_lines.h"

namespace {

using cli::Json;

Json result(const char* test, unsigned depth, unsigned threads) {
    return {{"test", test},
            {"tokens", 64},
            {"depth", depth},
            {"sequences", 1},
            {"tokens_per_second", {1.5, 2.5}},
            {"threads", threads},
            {"fingerprint", "f00d"}};
}

TEST_CASE("whole lines are results") {
    const std::string text = result("decode", 0, 1).dump() + "\n" + result("decode", 1, 1).dump() + "\n";
    const cli::ResultLines lines = cli::parse_result_lines(text);
    CHECK(lines.results.size() == 2);
    CHECK(lines.whole_bytes == text.size());
    CHECK(lines.foreign_line == 0);
    CHECK(cli::parse_result_lines("").foreign_line == 0);
}

TEST_CASE("wherever a run was ended, what was whole stays") {
    const std::string first = result("decode", 0, 1).dump() + "\n", second = result("prefill", 0, 1).dump();
    for (std::size_t n = 0; n <= second.size(); ++n) {
        const cli::ResultLines lines = cli::parse_result_lines(first + second.substr(0, n));
        INFO(n);
        REQUIRE(lines.foreign_line == 0);
        const bool all = n == second.size();
        CHECK(lines.results.size() == (all ? 2u : 1u));
        CHECK(lines.whole_bytes == first.size() + (all ? n : 0));
        CHECK(lines.lacks_line_end == all);
    }
    const cli::ResultLines alone = cli::parse_result_lines(second.substr(0, 5));
    CHECK((alone.foreign_line == 0 && alone.whole_bytes == 0 && alone.results.empty()));
}

TEST_CASE("other files are told apart") {
    const std::string good = result("decode", 0, 1).dump() + "\n";
    for (const char* other :
         {"hello", "{}\n", "\n", "[1]\n", "{\"test\":\"x\"}\n", "{\"tes\n", "{\"model\":1"}) {
        CHECK(cli::parse_result_lines(other).foreign_line == 1);
        CHECK(cli::parse_result_lines(good + other).foreign_line == 2);
    }
    Json zero = result("decode", 0, 1);
    zero["tokens_per_second"] = {0.0};
    CHECK(cli::parse_result_lines(zero.dump() + "\n").foreign_line == 1);
}

TEST_CASE("a test is the same only under the same conditions") {
    const Json one = result("decode", 0, 1);
    Json other = one;
    other["median"] = 7;
    CHECK(cli::same_test(one, other));
    for (const char* key : {"tokens", "threads", "fingerprint", "chunk_tokens", "repetitions", "isa"}) {
        other = one;
        other[key] = "another";
        CHECK(!cli::same_test(one, other));
    }
    CHECK(cli::differing_conditions(one, result("decode", 0, 2)) == std::vector<std::string>{"threads"});
}

TEST_CASE("each result finds the one that is most like it") {
    const std::vector<Json> first = {result("decode", 0, 1), result("decode", 0, 2), result("decode", 8, 1)};
    const std::vector<Json> second = {result("decode", 0, 2), result("prefill", 0, 1),
                                      result("decode", 0, 1)};
    const cli::ResultMatches matches = cli::match_results(first, second);
    CHECK(matches.pairs == std::vector<std::pair<std::size_t, std::size_t>>{{0, 2}, {1, 0}});
    CHECK(matches.only_first == std::vector<std::size_t>{2});
    CHECK(matches.only_second == std::vector<std::size_t>{1});
    const cli::ResultMatches others = cli::match_results({result("decode", 0, 1)}, {result("decode", 0, 4)});
    CHECK(others.pairs.size() == 1);
}

TEST_CASE("only results of one run are pairs") {
    Json first = result("decode", 0, 1), second = first;
    CHECK(!cli::measured_turn_about(first, second));
    first["turn_about"] = "a";
    CHECK(!cli::measured_turn_about(first, second));
    second["turn_about"] = "a";
    CHECK(cli::measured_turn_about(first, second));
}

}  // namespace
