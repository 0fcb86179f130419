// The condition with the most values becomes the axis, the others make the lines.
#include "bench/rate_plot.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "numbers/chart.h"
#include "system.h"

namespace cli {
namespace {

struct Dimension {
    const char* key;
    const char* words;
};
constexpr std::array kDimensions = {Dimension{"depth", "tokens in front"},
                                    Dimension{"sequences", "sequences"}, Dimension{"threads", "threads"},
                                    Dimension{"tokens", "tokens"}};

uint64_t number(const Json& result, const char* key) {
    return result.at(key).get<uint64_t>();
}

class RatePanel {
public:
    RatePanel(const std::string& test, const std::vector<PlotSide>& sides) : test_(test) {
        for (const PlotSide& side : sides) {
            for (const Json& result : side.results) {
                if (result.at("test") != test) continue;
                for (const Dimension& d : kDimensions) values_[d.key].insert(number(result, d.key));
                results_.push_back({&side.label, &result});
            }
        }
        axis_ = *std::max_element(kDimensions.begin(), kDimensions.end(),
                                  [&](const Dimension& a, const Dimension& b) {
                                      return values_[a.key].size() < values_[b.key].size();
                                  });
    }

    bool empty() const { return results_.empty(); }

    ChartPanel panel() {
        const std::set<uint64_t>& places = values_[axis_.key];
        ChartPanel panel{test_ + title(), axis_.words, "tokens/s", {}, {}, {}};
        for (const uint64_t value : places) panel.categories.push_back(fmt::to_string(value));
        std::map<std::string, ChartSeries> series;
        std::vector<std::string> order;
        for (const auto& [side, result] : results_) {
            const std::string label = label_of(*side, *result);
            if (series.find(label) == series.end()) order.push_back(label);
            ChartSeries& one = series[label];
            one.label = label;
            const auto x =
                static_cast<double>(std::distance(places.begin(), places.find(number(*result, axis_.key))));
            one.line.push_back({x, result->at("median").get<double>()});
            for (const Json& rate : result->at("tokens_per_second"))
                one.dots.push_back({x, rate.get<double>()});
        }
        for (const std::string& label : order) {
            ChartSeries& one = series[label];
            std::sort(one.line.begin(), one.line.end(),
                      [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
            panel.series.push_back(std::move(one));
        }
        return panel;
    }

private:
    // What is the same for all, but for the axis.
    std::string title() {
        std::string text;
        for (const Dimension& d : kDimensions) {
            if (values_[d.key].size() == 1 && d.key != axis_.key)
                text += fmt::format(", {} {}", *values_[d.key].begin(), d.words);
        }
        return text;
    }

    std::string label_of(const std::string& side, const Json& result) {
        std::string text;
        for (const Dimension& d : kDimensions) {
            if (values_[d.key].size() > 1 && d.key != axis_.key)
                text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number(result, d.key), d.words);
        }
        if (side.empty()) return text.empty() ? "median" : text;
        return text.empty() ? side : text + ", " + side;
    }

    std::string test_;
    Dimension axis_{};
    std::map<std::string, std::set<uint64_t>> values_;
    std::vector<std::pair<const std::string*, const Json*>> results_;
};

}  // namespace

void write_plot(const std::string& path, const std::string& svg) {
    OutputFile file(path);
    file.write(svg.data(), svg.size());
    file.commit();
}

void write_rate_plot(const std::string& path, const std::vector<PlotSide>& sides) {
    std::vector<ChartPanel> panels;
    for (const char* test : {"prefill", "decode"}) {
        RatePanel panel(test, sides);
        if (!panel.empty()) panels.push_back(panel.panel());
    }
    const Json& any = sides.front().results.front();
    const auto text = [&](const char* key) { return any.at(key).get<std::string>(); };
    write_plot(path, chart_svg(fmt::format("{} on {} ({}), {}", text("model_name"), text("backend"),
                                           text("isa"), text("cpu")),
                               panels));
}

}  // namespace cli
