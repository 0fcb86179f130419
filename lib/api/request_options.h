// takt_request_options to the engine's own: texts become ids, callbacks become functions.
#pragma once

#include <memory>

#include "engine/request.h"
#include "model/model.h"
#include "takt/takt.h"

namespace takt::api {

// Everything but the prompt. Names the field and the value of what it refuses.
Result<RequestOptions> read_request_options(const takt_request_options* given);

// The same, and prompt or prompt_ids as the request's ids.
Result<RequestOptions> read_request_options(const takt_request_options* given, const Model& model);

takt_event to_c(const Event& event);

}  // namespace takt::api
