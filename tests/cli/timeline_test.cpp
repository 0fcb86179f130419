// Bars against lengths counted by hand.
#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "numbers/timeline.h"

namespace {

using cli::TimelineStep;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

TimelineStep step(uint64_t token, uint64_t own_ns, uint64_t prompts_ns, uint64_t by = 0) {
    TimelineStep s;
    s.first_token = token;
    s.gap_ns = own_ns + prompts_ns;
    s.parts_ns[0] = own_ns;
    s.parts_ns[1] = prompts_ns;
    s.stalled_by = by;
    s.text = " word";
    return s;
}

}  // namespace

TEST_CASE("the longest gap fills its bar, and each cause has its share") {
    const auto lines = lines_of(
        cli::timeline_text({10, 500, 1000, 0}, {step(0, 0, 0), step(1, 250, 0), step(2, 250, 750, 7)}, 20));
    REQUIRE(lines.size() == 8);
    CHECK(lines[0].find("|                    |") != std::string::npos);  // 10 of 1000
    CHECK(lines[1].find("|==========          |") != std::string::npos);
    CHECK(lines[2].find("|====================|") != std::string::npos);
    CHECK(lines[5].find("|#####               |") != std::string::npos);
    CHECK(lines[6].find("|#####PPPPPPPPPPPPPPP|") != std::string::npos);
    CHECK(lines[6].find("<- request 7") != std::string::npos);
    CHECK(lines[5].find("request") == std::string::npos);
    CHECK(lines[7].find("P prompts of others") != std::string::npos);
}

TEST_CASE("of many steps the longest are shown, in their order") {
    std::vector<TimelineStep> steps;
    for (uint64_t i = 0; i < 300; ++i) steps.push_back(step(i, i % 50 == 10 ? 9000 : 100, 0));
    const auto lines = lines_of(cli::timeline_text({}, steps, 20, 6));
    REQUIRE(lines.size() == 4 + 1 + 6 + 1);
    CHECK(lines[4].find("the 6 longest of 299") != std::string::npos);
    for (int i = 0; i < 6; ++i)
        CHECK(lines[5 + i].substr(0, 9) ==
              std::string(i < 2 ? "       " : "      ") + std::to_string(10 + 50 * i));
}

TEST_CASE("a burst names its tokens, and odd text stays on its line") {
    TimelineStep burst = step(3, 100, 0);
    burst.n_tokens = 4;
    burst.text = "a\nb\tc\x1b[31m" + std::string(60, 'x');
    const auto lines = lines_of(cli::timeline_text({}, {step(2, 0, 0), burst}, 10));
    REQUIRE(lines.size() == 7);
    CHECK(lines[5].find("3-6") != std::string::npos);
    CHECK(lines[5].find('\x1b') == std::string::npos);
    CHECK(lines[5].find("a\\nbc[31m") != std::string::npos);
    CHECK(lines[5].ends_with("..."));
}

TEST_CASE("without gaps there are only phases") {
    CHECK(lines_of(cli::timeline_text({1, 2, 0, 3}, {step(0, 0, 0)})).size() == 4);
    CHECK(lines_of(cli::timeline_text({}, {})).size() == 4);
}
