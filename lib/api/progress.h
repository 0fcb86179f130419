// A caller's progress callback as the layers below call it.
#pragma once

#include <functional>

#include "engine/callback_guard.h"
#include "takt/takt.h"

namespace takt::api {

// Empty for no callback. While it runs, calls that would wait for its caller are refused.
inline std::function<bool(uint64_t done, uint64_t total)> progress_of(takt_progress_callback call,
                                                                      void* user_data) {
    if (call == nullptr) return {};
    return [call, user_data](uint64_t done, uint64_t total) {
        const CallbackThreads::Scope scope(nullptr);
        return call(user_data, done, total) == TAKT_CONTINUE;
    };
}

}  // namespace takt::api
