// Conversations.
#include <memory>
#include <string>
#include <utility>

#include "api/arguments.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/request_options.h"
#include "api/struct_copy.h"
#include "api/timing.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

namespace {

// One send or reset at a time.
class Turn {
public:
    explicit Turn(SessionEnd& end) : end_(end), mine_(!end.sending.exchange(true)) {}
    ~Turn() {
        if (mine_) end_.sending = false;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Status status() const {
        return mine_ ? Status()
                     : Status(StatusCode::invalid_state,
                              "The session is busy: a takt_session_send of it is still running.");
    }

private:
    SessionEnd& end_;
    bool mine_;
};

}  // namespace

takt_status takt_session_create(takt_engine* engine, const char* system, size_t system_bytes,
                                takt_session** out_session) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_session);
        *out_session = nullptr;
        TAKT_RETURN_IF_NULL(engine);
        TAKT_RETURN_IF_ERROR(check_text(system, system_bytes, "system"));
        const EngineCalls::Call call(*engine->calls);
        TAKT_RETURN_IF_ERROR(call.status());
        auto handle = std::make_unique<takt_session>();
        handle->end = std::make_shared<SessionEnd>();
        handle->end->runtime = engine->runtime;
        handle->end->calls = engine->calls;
        std::string text = system == nullptr ? std::string() : std::string(system, system_bytes);
        Result<std::unique_ptr<Session>> session = Session::create(call.engine(), std::move(text));
        if (!session.ok()) return session.status();
        handle->end->session = std::move(*session);
        engine->calls->add(handle->end->session.get());
        *out_session = handle.release();
        return {};
    });
}

takt_status takt_session_send(takt_session* session, const char* text, size_t text_bytes,
                              const takt_request_options* options, takt_timing* out_timing) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(session);
        const uint64_t submitted_ns = session->end->runtime->clock().now_ns();
        TAKT_RETURN_IF_NULL(text);
        TAKT_RETURN_IF_ERROR(check_text(text, text_bytes, "text"));
        if (out_timing != nullptr) TAKT_RETURN_IF_ERROR(check_output(out_timing, "out_timing"));
        Result<RequestOptions> own = read_request_options(options);
        if (!own.ok()) return own.status();
        own->submitted_ns = submitted_ns;
        const std::shared_ptr<SessionEnd> end = session->end;
        const Turn turn(*end);
        TAKT_RETURN_IF_ERROR(turn.status());
        const EngineCalls::Call call(*end->calls);
        TAKT_RETURN_IF_ERROR(call.status());
        const Result<std::unique_ptr<Request>> request =
            end->session->send({text, text_bytes}, std::move(*own));
        if (!request.ok()) return request.status();
        if (out_timing != nullptr) write_struct(make_timing(**request, *end->runtime), out_timing);
        return (*request)->status();
    });
}

takt_status takt_session_cancel(takt_session* session) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(session);
        session->end->session->cancel();
        return {};
    });
}

takt_status takt_session_reset(takt_session* session) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(session);
        const Turn turn(*session->end);
        TAKT_RETURN_IF_ERROR(turn.status());
        session->end->session->reset();
        return {};
    });
}

void takt_session_destroy(takt_session* session) {
    if (session == nullptr) return;
    guard_void([&] {
        if (session->end->sending) session->end->session->cancel();
        delete session;
    });
}
