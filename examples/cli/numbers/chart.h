// Charts as SVG text: panels below each other, with lines, samples as dots and marks.
#pragma once

#include <string>
#include <vector>

namespace cli {

struct ChartPoint {
    double x = 0, y = 0;
};

struct ChartSeries {
    std::string label;  // "": not in the legend
    std::vector<ChartPoint> line;
    std::vector<ChartPoint> dots;
};

// A vertical line with a word.
struct ChartMark {
    double x = 0;
    std::string label;
};

struct ChartPanel {
    std::string title, x_label, y_label;
    std::vector<std::string> categories;  // names of x = 0, 1, …; without any, x is a scale from 0
    std::vector<ChartSeries> series;
    std::vector<ChartMark> marks;
};

// Valid XML whatever the texts hold; both axes begin at 0. Points that aren't finite are left out.
std::string chart_svg(const std::string& title, const std::vector<ChartPanel>& panels);

// Distances of 1, 2 or 5 times a power of ten: at most n_most steps from 0 to at least highest.
std::vector<double> chart_ticks(double highest, int n_most);

}  // namespace cli
