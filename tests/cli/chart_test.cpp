// Charts: ticks, what is drawn, and texts that must not break the XML.
#include <catch2/catch.hpp>

#include <limits>
#include <string>

#include "numbers/chart.h"

namespace {

std::size_t count(const std::string& text, const std::string& word) {
    std::size_t n = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
    return n;
}

TEST_CASE("ticks are round, reach the highest value and are not too many") {
    for (double highest = 1e-4; highest < 1e7; highest *= 1.37) {
        const std::vector<double> ticks = cli::chart_ticks(highest, 6);
        INFO(highest);
        CHECK(ticks.front() == 0);
        CHECK(ticks.back() >= highest * (1 - 1e-9));
        CHECK(ticks.size() <= 7);
        CHECK(ticks.size() >= 3);
    }
    CHECK(cli::chart_ticks(10, 6) == std::vector<double>{0, 2, 4, 6, 8, 10});
    CHECK(cli::chart_ticks(0, 6).back() >= 1);
}

TEST_CASE("points, marks and names are drawn once each") {
    cli::ChartPanel panel{"Rates", "depth", "tokens/s", {"0", "512"}, {}, {}};
    const double nan = std::numeric_limits<double>::quiet_NaN();
    panel.series.push_back({"first", {{0, 10}, {1, 8}}, {{0, 9}, {0, 11}, {1, nan}}});
    panel.series.push_back({"second", {{0, 5}}, {}});
    panel.marks.push_back({0.5, "bound"});
    const std::string svg = cli::chart_svg("takt", {panel});
    CHECK(count(svg, "<polyline") == 2);
    CHECK(count(svg, "<circle") == 2);
    CHECK(count(svg, ">bound<") == 1);
    for (const char* word : {">first<", ">second<", ">depth<", ">tokens/s<", ">512<", ">Rates<"})
        CHECK(count(svg, word) == 1);
    CHECK(count(svg, "nan") == 0);
    CHECK(count(svg, "script") == 0);
}

TEST_CASE("texts are escaped and made valid") {
    const std::string svg = cli::chart_svg("a<b & \"c\"\x01\xff", {{}});
    CHECK(count(svg, "a&lt;b &amp; &quot;c&quot; \xEF\xBF\xBD") == 2);
    CHECK(count(svg, "\xff") == 0);
}

}  // namespace
