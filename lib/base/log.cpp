// Hands one line at a time to the runtime's sink.
#include "base/log.h"

namespace takt {

void Logger::log(LogLevel level, std::string_view text) const {
    if (!sink_) return;
    const std::lock_guard lock(mutex_);
    sink_(level, text);
}

}  // namespace takt
