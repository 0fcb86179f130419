// How far something slow has come, on stderr if that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "system.h"

namespace cli {

// A line that appears after half a second and is wiped out at the end.
class ProgressLine {
public:
    explicit ProgressLine(std::string_view doing, std::string_view unit = "MB")
        : doing_(doing),
          unit_(unit),
          start_(std::chrono::steady_clock::now()),
          visible_(stderr_is_terminal()) {}
    ~ProgressLine() {
        if (shown_) write_stderr("\r\033[K");
    }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void update(uint64_t done, uint64_t total) {
        if (!visible_ || total == 0) return;
        const auto now = std::chrono::steady_clock::now();
        if (now - start_ < std::chrono::milliseconds(500) || now - last_ < std::chrono::milliseconds(100))
            return;
        last_ = now;
        shown_ = true;
        const auto all = static_cast<double>(total);
        write_stderr(fmt::format("\rtakt: {}, {:.0f} % of {:.0f} {}\033[K", doing_,
                                 100.0 * static_cast<double>(done) / all, unit_ == "MB" ? all / 1e6 : all,
                                 unit_));
    }

private:
    using SteadyTime = std::chrono::steady_clock::time_point;
    std::string doing_, unit_;
    SteadyTime start_, last_{};
    bool visible_;
    bool shown_ = false;
};

}  // namespace cli
