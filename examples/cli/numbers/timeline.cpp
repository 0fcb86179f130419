// Bars are ASCII: they must read the same in every terminal and log.
#include "numbers/timeline.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace cli {
namespace {

double ms(uint64_t ns) {
    return static_cast<double>(ns) * 1e-6;
}

std::size_t columns(uint64_t ns, uint64_t longest_ns, std::size_t width) {
    if (ns == 0 || longest_ns == 0) return 0;
    const double share = static_cast<double>(ns) / static_cast<double>(longest_ns);
    return static_cast<std::size_t>(std::llround(share * static_cast<double>(width)));
}

// Part by part, each mark as often as its share; roundings are of the running sum, so that lengths compare.
std::string bar(const TimelineStep& step, uint64_t longest_ns, std::size_t width) {
    std::string text;
    uint64_t sum = 0;
    for (std::size_t i = 0; i < kGapPartCount; ++i) {
        sum += step.parts_ns[i];
        const std::size_t end = columns(sum, longest_ns, width);
        if (end > text.size()) text.append(end - text.size(), kGapParts[i].mark);
    }
    return text.empty() && step.gap_ns > 0 ? "|" : text;
}

// One line, short, whatever a model says.
std::string shown(const std::string& text) {
    constexpr std::size_t kLongest = 24;
    std::string line;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n') {
            line += "\\n";
        } else if (byte >= 0x20 && byte != 0x7F) {
            line += c;
        }
    }
    if (line.size() <= kLongest) return line;
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // no half character
    return line.substr(0, end) + "...";
}

std::string step_line(const TimelineStep& step, uint64_t longest_ns, std::size_t width) {
    const std::string number =
        step.n_tokens == 1 ? fmt::format("{}", step.first_token)
                           : fmt::format("{}-{}", step.first_token, step.first_token + step.n_tokens - 1);
    const std::string stall =
        step.stalled_by != 0 ? fmt::format(" <- request {}", step.stalled_by) : std::string();
    return fmt::format("{:>9} {:>10.3f} ms |{:<{}}| {}{}\n", number, ms(step.gap_ns),
                       bar(step, longest_ns, width), width, shown(step.text), stall);
}

std::string phase_lines(const TimelinePhases& phases, std::size_t width) {
    const uint64_t longest =
        std::max({phases.queue_ns, phases.prefill_ns, phases.decode_ns, phases.finish_ns});
    std::string text;
    for (const auto& [name, ns] : {std::pair{"queue", phases.queue_ns},
                                   {"prefill", phases.prefill_ns},
                                   {"decode", phases.decode_ns},
                                   {"finish", phases.finish_ns}}) {
        text += fmt::format("{:>9} {:>10.3f} ms |{:<{}}|\n", name, ms(ns),
                            std::string(columns(ns, longest, width), '='), width);
    }
    return text;
}

}  // namespace

std::string timeline_text(const TimelinePhases& phases, const std::vector<TimelineStep>& steps,
                          std::size_t width, std::size_t most) {
    std::string text = phase_lines(phases, width);
    if (steps.size() < 2) return text;
    std::vector<const TimelineStep*> shown_steps;
    for (std::size_t i = 1; i < steps.size(); ++i) shown_steps.push_back(&steps[i]);  // the first has no gap
    const auto longer = [](const TimelineStep* a, const TimelineStep* b) { return a->gap_ns > b->gap_ns; };
    const uint64_t longest_ns = (*std::min_element(shown_steps.begin(), shown_steps.end(), longer))->gap_ns;
    const bool all = shown_steps.size() <= most;
    if (!all) {
        std::stable_sort(shown_steps.begin(), shown_steps.end(), longer);
        shown_steps.resize(most);
        std::sort(shown_steps.begin(), shown_steps.end(), [](const TimelineStep* a, const TimelineStep* b) {
            return a->first_token < b->first_token;
        });
    }
    text += fmt::format("    token        gap{}\n",
                        all ? "" : fmt::format(", the {} longest of {}", most, steps.size() - 1));
    for (const TimelineStep* step : shown_steps) text += step_line(*step, longest_ns, width);
    text += "          ";
    for (const GapPart& part : kGapParts) text += fmt::format(" {} {}", part.mark, part.name);
    return text + "\n";
}

}  // namespace cli
