// A request's handle is there before the first callback can look for it.
#pragma once

#include <memory>
#include <utility>

#include "api/handles.h"
#include "base/status.h"

namespace takt::api {

// For what queue() -> Result<std::unique_ptr<Request>> queues. *out_request is NULL if it fails or throws.
template <typename Queue>
Status new_request(std::shared_ptr<Runtime> runtime, std::shared_ptr<EngineCalls> calls,
                   takt_request** out_request, Queue queue) {
    struct Reset {
        takt_request** out;
        ~Reset() {
            if (out != nullptr) *out = nullptr;
        }
    } reset{out_request};
    auto handle = std::make_unique<takt_request>();
    const std::shared_ptr<RequestEnd> end = std::make_shared<RequestEnd>(std::move(runtime));
    handle->calls = std::move(calls);
    handle->end = end;
    *out_request = handle.get();
    Result<std::unique_ptr<Request>> request = queue();
    if (!request.ok()) return request.status();
    // From here on nothing may fail: the request runs.
    reset.out = nullptr;
    handle.release();
    end->set(std::move(*request));
    return {};
}

}  // namespace takt::api
