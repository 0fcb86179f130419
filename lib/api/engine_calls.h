// The way from an engine's handle to the engine: closed by takt_engine_destroy, though a session keeps the
// engine itself alive.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "engine/engine.h"
#include "engine/session.h"

namespace takt::api {

class EngineCalls {
public:
    explicit EngineCalls(std::shared_ptr<Engine> engine);

    // One call on its way through the engine, which takt_engine_destroy waits for. Calls that come while it
    // waits are refused; later ones are those of sessions, which have the engine from then on to themselves.
    class Call {
    public:
        explicit Call(EngineCalls& calls);
        ~Call();
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;
        Status status() const;
        const std::shared_ptr<Engine>& engine() const { return engine_; }  // null for a session's later call

    private:
        EngineCalls& calls_;
        std::shared_ptr<Engine> engine_;
        bool refused_ = false;
    };

    void add(Session* session);
    void remove(Session* session);

    uint32_t context_tokens() const { return context_tokens_; }
    bool inside_callback() const { return callbacks_->contains_this_thread(); }
    // Waiting on the thread that has to go on would never end.
    Status refuse_inside_callback(std::string_view call) const;

    // Refuses new calls, cancels what runs, waits for the calls and the last callback, lets go of the engine.
    void close();

private:
    const std::shared_ptr<const CallbackThreads> callbacks_;
    const uint32_t context_tokens_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::shared_ptr<Engine> engine_;
    std::set<Session*> sessions_;
    unsigned n_calls_ = 0;
    bool closing_ = false;
};

}  // namespace takt::api
