// takt_request_options to the engine's own: texts become ids, callbacks become functions that never throw.
#pragma once

#include <memory>

#include "api/engine_calls.h"
#include "engine/request.h"
#include "model/model.h"
#include "takt/takt.h"

namespace takt::api {

// Everything but the prompt. Names the field and the value of what it refuses.
Result<RequestOptions> read_request_options(const takt_request_options* given);

// The same, and prompt or prompt_ids as the request's ids.
Result<RequestOptions> read_request_options(const takt_request_options* given, const Model& model);

// For calls that block their caller: the callback also ends the request once the engine's handle is being
// destroyed.
void stop_when_closing(RequestOptions& options, std::shared_ptr<EngineCalls> calls);

takt_event to_c(const Event& event);

}  // namespace takt::api
