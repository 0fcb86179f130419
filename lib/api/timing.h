// A request's times as takt_timing.
#pragma once

#include <string_view>

#include "engine/request.h"
#include "engine/runtime.h"
#include "takt/takt.h"

namespace takt::api {

takt_timing make_timing(const Request& request, Runtime& runtime);
// now_ns: end of the phases of a request that still runs. n_threads is left at 0.
takt_timing make_timing(const Timeline& timeline, FinishReason reason, std::string_view backend,
                        uint64_t now_ns);

}  // namespace takt::api
