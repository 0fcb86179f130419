// Axes, ticks, legends; coordinates in pixels with one decimal.
#include "numbers/chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cli {
namespace {

constexpr double kWidth = 980, kPanelHeight = 340, kTop = 44;
constexpr double kLeft = 86, kRight = 240, kAbove = 34, kBelow = 54, kLegendLine = 16;
// Okabe and Ito's colours, which most people can tell apart.
constexpr std::array kColors = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"};

// Valid UTF-8 without characters that XML gives a meaning or forbids.
std::string escaped(const std::string& text) {
    const std::string quoted =
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::string out;
    for (const char c : nlohmann::json::parse(quoted).get<std::string>()) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
        }
    }
    return out;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                       escaped(text));
}

std::string line_between(double x1, double y1, double x2, double y2, const char* style) {
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2,
                       style);
}

bool finite(const ChartPoint& point) {
    return std::isfinite(point.x) && std::isfinite(point.y);
}

class PanelDrawing {
public:
    PanelDrawing(const ChartPanel& panel, double top) : panel_(panel), top_(top + kAbove) {
        for (const ChartSeries& series : panel.series) {
            for (const auto* points : {&series.line, &series.dots}) {
                for (const ChartPoint& point : *points) {
                    if (!finite(point)) continue;
                    x_most_ = std::max(x_most_, point.x);
                    y_most_ = std::max(y_most_, point.y);
                }
            }
        }
        for (const ChartMark& mark : panel.marks) {
            if (std::isfinite(mark.x)) x_most_ = std::max(x_most_, mark.x);
        }
        x_ticks_ = chart_ticks(x_most_, 8);
        y_ticks_ = chart_ticks(y_most_, 6);
    }

    std::string svg() const {
        std::string out = text_at(kLeft, top_ - 12, "start", panel_.title, " font-weight=\"bold\"");
        out += axes();
        for (std::size_t i = 0; i < panel_.series.size(); ++i) out += series(i);
        for (const ChartMark& mark : panel_.marks) {
            if (!std::isfinite(mark.x)) continue;
            out += line_between(x(mark.x), top_, x(mark.x), bottom(),
                                "stroke=\"#444\" stroke-dasharray=\"5 4\"");
            const bool right = x(mark.x) > kWidth / 2;
            out += text_at(x(mark.x) + (right ? -5 : 5), top_ + 12, right ? "end" : "start", mark.label);
        }
        return out + legend();
    }

private:
    double bottom() const { return top_ + kPanelHeight - kAbove - kBelow; }
    double y(double value) const { return bottom() - (bottom() - top_) * value / y_ticks_.back(); }
    double x(double value) const {
        const double width = kWidth - kLeft - kRight;
        if (panel_.categories.empty()) return kLeft + width * value / x_ticks_.back();
        return kLeft + width * (value + 0.5) / static_cast<double>(panel_.categories.size());
    }

    std::string axes() const {
        std::string out;
        for (const double tick : y_ticks_) {
            out += line_between(kLeft, y(tick), kWidth - kRight, y(tick), "stroke=\"#ddd\"");
            out += text_at(kLeft - 6, y(tick) + 4, "end", fmt::format("{:.10g}", tick));
        }
        if (panel_.categories.empty()) {
            for (const double tick : x_ticks_) {
                out += line_between(x(tick), bottom(), x(tick), bottom() + 4, "stroke=\"#444\"");
                out += text_at(x(tick), bottom() + 18, "middle", fmt::format("{:.10g}", tick));
            }
        }
        for (std::size_t i = 0; i < panel_.categories.size(); ++i)
            out += text_at(x(static_cast<double>(i)), bottom() + 18, "middle", panel_.categories[i]);
        out += line_between(kLeft, bottom(), kWidth - kRight, bottom(), "stroke=\"#444\"");
        out += line_between(kLeft, top_, kLeft, bottom(), "stroke=\"#444\"");
        out += text_at((kLeft + kWidth - kRight) / 2, bottom() + 38, "middle", panel_.x_label);
        const double middle = (top_ + bottom()) / 2;
        const std::string turned = fmt::format(" transform=\"rotate(-90 20 {:.1f})\"", middle);
        return out + text_at(20, middle, "middle", panel_.y_label, turned.c_str());
    }

    std::string series(std::size_t i) const {
        std::string points, out;
        for (const ChartPoint& p : panel_.series[i].line) {
            if (finite(p))
                points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x(p.x), y(p.y));
        }
        if (!points.empty())
            out += fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", points, stroke(i));
        for (const ChartPoint& p : panel_.series[i].dots) {
            if (!finite(p)) continue;
            out += fmt::format(
                "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" fill-opacity=\"0.5\"/>\n", x(p.x),
                y(p.y), color(i));
        }
        return out;
    }

    // At the right of the panel; beyond the colours lines are broken.
    std::string legend() const {
        std::string out;
        double at = top_ + 10;
        for (std::size_t i = 0; i < panel_.series.size(); ++i) {
            if (panel_.series[i].label.empty()) continue;
            out +=
                line_between(kWidth - kRight + 12, at - 4, kWidth - kRight + 32, at - 4, stroke(i).c_str());
            out += text_at(kWidth - kRight + 38, at, "start", panel_.series[i].label);
            at += kLegendLine;
        }
        return out;
    }

    static std::string stroke(std::size_t i) {
        return fmt::format("stroke=\"{}\" stroke-width=\"2\"{}", color(i),
                           i < kColors.size() ? "" : " stroke-dasharray=\"3 3\"");
    }
    static const char* color(std::size_t i) { return kColors[i % kColors.size()]; }

    const ChartPanel& panel_;
    double top_, x_most_ = 0, y_most_ = 0;
    std::vector<double> x_ticks_, y_ticks_;
};

}  // namespace

std::vector<double> chart_ticks(double highest, int n_most) {
    if (!(highest > 0) || !std::isfinite(highest)) highest = 1;
    double step = std::pow(10, std::floor(std::log10(highest / n_most)));
    for (const double factor : {2.0, 2.5, 2.0, 2.0}) {
        if (std::ceil(highest / step - 1e-9) <= n_most) break;
        step *= factor;
    }
    std::vector<double> ticks;
    const int n = std::max(1, static_cast<int>(std::ceil(highest / step - 1e-9)));
    for (int i = 0; i <= n; ++i) ticks.push_back(i * step);
    return ticks;
}

std::string chart_svg(const std::string& title, const std::vector<ChartPanel>& panels) {
    const double height = kTop + kPanelHeight * static_cast<double>(panels.size()) + 8;
    std::string out = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"12\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        kWidth, height);
    out += fmt::format("<title>{}</title>\n", escaped(title));
    out += text_at(kLeft, 26, "start", title, " font-size=\"15\"");
    double top = kTop;
    for (const ChartPanel& panel : panels) {
        out += PanelDrawing(panel, top).svg();
        top += kPanelHeight;
    }
    return out + "</svg>\n";
}

}  // namespace cli
