// Text that takt has to say leaves through the sink its runtime was given; without a sink it is dropped.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

namespace takt {

enum class LogLevel : int { error = 0, warning = 1, info = 2, debug = 3 };

class Logger {
public:
    using Sink = std::function<void(LogLevel, std::string_view)>;
    Logger() = default;
    explicit Logger(Sink sink) : sink_(std::move(sink)) {}

    // Thread-safe: one line at a time reaches the sink. What would be logged from inside a sink is dropped.
    void log(LogLevel level, std::string_view text) const;

private:
    Sink sink_;
    mutable std::mutex mutex_;
};

}  // namespace takt
