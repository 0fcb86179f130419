// The list is short (sessions of one engine) and touched once a session.
#include "api/engine_calls.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace takt::api {
namespace {

// Between two cancels, for a call that had begun but not yet submitted its request.
constexpr std::chrono::milliseconds kPoll{1};

}  // namespace

EngineCalls::EngineCalls(std::shared_ptr<Engine> engine)
    : callbacks_(engine->callback_threads()),
      context_tokens_(engine->context_tokens()),
      engine_(std::move(engine)) {}

EngineCalls::Call::Call(EngineCalls& calls) : calls_(calls) {
    const std::lock_guard lock(calls_.mutex_);
    refused_ = calls_.closing_;
    if (refused_ || !calls_.engine_) return;
    engine_ = calls_.engine_;
    ++calls_.n_calls_;
}

EngineCalls::Call::~Call() {
    if (!engine_) return;
    const std::lock_guard lock(calls_.mutex_);
    --calls_.n_calls_;
    calls_.changed_.notify_all();
}

Status EngineCalls::Call::status() const {
    if (!refused_) return {};
    return Status(StatusCode::invalid_state, "The engine is being destroyed.");
}

Status EngineCalls::refuse_inside_callback(std::string_view call) const {
    if (!inside_callback()) return {};
    return Status(StatusCode::invalid_state,
                  fmt::format("{} can't be called inside a callback of the same engine.", call));
}

void EngineCalls::add(Session* session) {
    const std::lock_guard lock(mutex_);
    sessions_.insert(session);
}

void EngineCalls::remove(Session* session) {
    const std::lock_guard lock(mutex_);
    sessions_.erase(session);
}

void EngineCalls::close() {
    std::shared_ptr<Engine> engine;
    {
        std::unique_lock lock(mutex_);
        closing_ = true;
        for (Session* session : sessions_) session->cancel();
        engine = engine_;
        while (n_calls_ > 0 && !engine->runtime().forked()) {
            engine->cancel_all();
            changed_.wait_for(lock, kPoll, [this] { return n_calls_ == 0; });
        }
    }
    engine->cancel_all_and_wait();
    engine->stop_telling();  // nothing runs now, and what comes is a session's
    const std::lock_guard lock(mutex_);
    engine_.reset();
    closing_ = false;
}

}  // namespace takt::api
