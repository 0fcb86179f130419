// Hands one line at a time to the runtime's sink.
#include "base/log.h"

namespace takt {

void Logger::log(LogLevel level, std::string_view text) const {
    thread_local bool inside_sink = false;
    if (!sink_ || inside_sink) return;
    const std::lock_guard lock(mutex_);
    struct Inside {
        Inside() { inside_sink = true; }
        ~Inside() { inside_sink = false; }
    } inside;
    sink_(level, text);
}

}  // namespace takt
