// Somebody outside who hears of what the worker does, on its thread and with nothing locked; is called no
// more once he threw.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/callback_guard.h"

namespace takt {

template <typename Record>
class Listener {
public:
    using Call = std::function<void(const Record&)>;
    // name: of the callback, for the log. call may be empty. Logger and clock outlive it.
    Listener(std::string_view name, Call call, std::shared_ptr<const CallbackThreads> callbacks,
             const Logger& logger, const Clock& clock)
        : name_(name),
          call_(std::move(call)),
          callbacks_(std::move(callbacks)),
          logger_(logger),
          clock_(clock) {}

    // Returns what it took.
    uint64_t tell(const Record& record) noexcept {
        if (!call_ || !tells_) return 0;
        const CallbackThreads::Scope scope(callbacks_.get());
        const uint64_t begin_ns = clock_.now_ns();
        try {
            call_(record);
        } catch (...) {
            stop();
            log_the_throw();
        }
        return elapsed_ns(begin_ns, clock_.now_ns());
    }
    // From the next record on. Any thread.
    void stop() { tells_ = false; }

private:
    void log_the_throw() const noexcept {
        try {
            logger_.log(LogLevel::error,
                        fmt::format("The {} callback threw an exception; it is not called any more.", name_));
        } catch (...) {  // no memory for the line
        }
    }

    const std::string_view name_;
    const Call call_;
    const std::shared_ptr<const CallbackThreads> callbacks_;
    const Logger& logger_;
    const Clock& clock_;
    std::atomic<bool> tells_{true};
};

}  // namespace takt
