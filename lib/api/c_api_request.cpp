// One submitted request: its events, its end, its times.
#include <memory>
#include <span>
#include <utility>

#include "api/copy_out.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/request_options.h"
#include "api/struct_copy.h"
#include "api/timing.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

takt_status takt_request_next(takt_request* request, uint64_t timeout_ns, takt_event* out_event) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(request);
        TAKT_RETURN_IF_ERROR(check_output(out_event, "out_event"));
        const Result<Event> event = request->end->get().next(timeout_ns);
        if (!event.ok()) return event.status();
        write_struct(takt::api::to_c(*event), out_event);
        return {};
    });
}

takt_status takt_request_wait(takt_request* request, uint64_t timeout_ns) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(request);
        return request->end->get().wait(timeout_ns);
    });
}

takt_status takt_request_cancel(takt_request* request) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(request);
        request->end->get().cancel();
        return {};
    });
}

// The status is the request's, not this call's: it doesn't touch takt_last_error().
takt_status takt_request_status(const takt_request* request, const char** out_message) {
    StatusCode code = StatusCode::ok;
    const takt_status called = guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(request);
        code = request->end->get().status().code();
        if (out_message != nullptr) *out_message = request->end->message();
        return {};
    });
    return called != TAKT_OK ? called : takt::api::to_c(code);
}

takt_status takt_request_timing(const takt_request* request, takt_timing* out_timing) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(request);
        TAKT_RETURN_IF_ERROR(check_output(out_timing, "out_timing"));
        write_struct(make_timing(request->end->get(), request->end->runtime()), out_timing);
        return {};
    });
}

uint64_t takt_request_id(const takt_request* request) {
    return request == nullptr ? 0 : guard_value(uint64_t{0}, [&] { return request->end->get().number(); });
}

takt_status takt_request_prompt_ids(const takt_request* request, int32_t* out_ids, size_t capacity,
                                    size_t* out_count) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(request);
        TAKT_RETURN_IF_ERROR(check_buffer(out_ids, capacity, out_count, "out_ids", "out_count"));
        return copy_out(request->end->get().prompt_ids(), out_ids, capacity, out_count, "out_ids");
    });
}

void takt_request_destroy(takt_request* request) {
    if (request == nullptr) return;
    guard_void([&] {
        std::unique_ptr<Request> last = request->end->take();
        last.reset();  // cancels, and returns after the last callback unless this is one
        delete request;
    });
}
