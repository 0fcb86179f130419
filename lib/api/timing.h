// A request's times as takt_timing.
#pragma once

#include "engine/request.h"
#include "engine/runtime.h"
#include "takt/takt.h"

namespace takt::api {

takt_timing make_timing(const Request& request, Runtime& runtime);

}  // namespace takt::api
