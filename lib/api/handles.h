// What stands behind the opaque handles. Each holds what it needs, so handles may be destroyed in any order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/engine_calls.h"
#include "backend/weight_store.h"
#include "engine/engine.h"
#include "engine/runtime.h"
#include "engine/session.h"
#include "model/model.h"
#include "timing/statistics.h"
#include "takt/takt.h"

namespace takt::api {

// The texts of takt_backend_info, which the caller borrows.
struct BackendTexts {
    std::string name, device, isa, isa_levels, why_not;
    uint64_t memory_bytes = 0;
    bool available = false;
};

// The submitter's end of one request. A callback may see the handle before submit has returned: users wait
// for `set`.
class RequestEnd {
public:
    explicit RequestEnd(std::shared_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}
    void set(std::unique_ptr<Request> request) noexcept;
    Request& get();
    std::unique_ptr<Request> take();
    Runtime& runtime() { return *runtime_; }
    const std::shared_ptr<Runtime>& shared_runtime() const { return runtime_; }
    // The finished request's sentence, kept for as long as this lives.
    const char* message();

private:
    std::shared_ptr<Runtime> runtime_;  // its clock outlives the request
    std::mutex mutex_;
    std::condition_variable changed_;
    std::unique_ptr<Request> request_;
    std::string message_;
};

// Kept by the handle and by a running send, so that a callback may destroy the session it belongs to.
struct SessionEnd {
    SessionEnd() = default;
    ~SessionEnd();
    SessionEnd(const SessionEnd&) = delete;
    SessionEnd& operator=(const SessionEnd&) = delete;

    std::shared_ptr<Runtime> runtime;
    std::shared_ptr<EngineCalls> calls;
    std::unique_ptr<Session> session;
    std::atomic<bool> sending = false;
};

}  // namespace takt::api

struct takt_runtime {
    std::shared_ptr<takt::Runtime> runtime;
    std::vector<takt::api::BackendTexts> backends;
};

struct takt_model {
    std::shared_ptr<takt::Runtime> runtime;
    std::shared_ptr<const takt::Model> model;
    std::string backend;  // whose form the weights are in, or "" for the best one
    std::shared_ptr<const takt::PackedWeights> packed;  // null with metadata_only
    std::string packed_cache_dir;                       // "": none
};

struct takt_engine {
    std::shared_ptr<takt::Runtime> runtime;
    std::shared_ptr<const takt::Model> model;
    std::shared_ptr<const takt::PackedWeights> packed, draft_packed;
    std::shared_ptr<takt::api::EngineCalls> calls;
};

struct takt_request {
    std::shared_ptr<takt::api::EngineCalls> calls;
    std::shared_ptr<takt::api::RequestEnd> end;
};

struct takt_snapshot {
    takt::Statistics statistics;
    takt::Origin origin;
};

struct takt_session {
    std::shared_ptr<takt::api::SessionEnd> end;
};
