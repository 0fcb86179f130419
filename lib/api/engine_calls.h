// What goes on in one engine on behalf of its handles: lets takt_engine_destroy end it all, though a session
// keeps the engine itself alive.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "engine/engine.h"
#include "engine/request.h"
#include "engine/session.h"

namespace takt::api {

class EngineCalls {
public:
    explicit EngineCalls(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

    // Null once the handle is destroyed; the caller's copy keeps the engine alive through its call.
    std::shared_ptr<Engine> engine() const;
    bool closing() const { return closing_; }

    void add(Request* request);
    void remove(Request* request);
    void add(Session* session);
    void remove(Session* session);

    // A blocking call of another thread, which destroy waits for.
    class Blocking {
    public:
        explicit Blocking(EngineCalls& calls);
        ~Blocking();
        Blocking(const Blocking&) = delete;
        Blocking& operator=(const Blocking&) = delete;

    private:
        EngineCalls& calls_;
    };

    // Cancels requests and turns, waits for the last callback, lets go of the engine.
    void close();

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::shared_ptr<Engine> engine_;
    std::set<Request*> requests_;
    std::set<Session*> sessions_;
    unsigned n_blocking_ = 0;
    std::atomic<bool> closing_ = false;
};

}  // namespace takt::api
