// The lists are short (live requests of one engine) and touched once a request.
#include "api/engine_calls.h"

#include <chrono>
#include <thread>

namespace takt::api {
namespace {

constexpr std::chrono::milliseconds kPoll{1};

}  // namespace

std::shared_ptr<Engine> EngineCalls::engine() const {
    std::lock_guard lock(mutex_);
    return engine_;
}

void EngineCalls::add(Request* request) {
    std::lock_guard lock(mutex_);
    requests_.insert(request);
}

void EngineCalls::remove(Request* request) {
    std::lock_guard lock(mutex_);
    requests_.erase(request);
}

void EngineCalls::add(Session* session) {
    std::lock_guard lock(mutex_);
    sessions_.insert(session);
}

void EngineCalls::remove(Session* session) {
    std::lock_guard lock(mutex_);
    sessions_.erase(session);
}

EngineCalls::Blocking::Blocking(EngineCalls& calls) : calls_(calls) {
    std::lock_guard lock(calls_.mutex_);
    ++calls_.n_blocking_;
}

EngineCalls::Blocking::~Blocking() {
    std::lock_guard lock(calls_.mutex_);
    --calls_.n_blocking_;
    calls_.changed_.notify_all();
}

void EngineCalls::close() {
    closing_ = true;
    std::unique_lock lock(mutex_);
    for (Session* session : sessions_) session->cancel();
    for (Request* request : requests_) request->cancel();
    changed_.wait(lock, [this] { return n_blocking_ == 0; });
    // Polled, without the lock between the looks: a callback that destroys its request needs it.
    while (!requests_.empty()) {
        Request* const request = *requests_.begin();
        if (request->wait(0).code() != StatusCode::timed_out) {
            requests_.erase(request);
            continue;
        }
        lock.unlock();
        std::this_thread::sleep_for(kPoll);
        lock.lock();
    }
    std::shared_ptr<Engine> last = std::move(engine_);
    engine_.reset();
    lock.unlock();  // ~Engine runs outside: its last callbacks may come back here
    last.reset();
    closing_ = false;  // a session that outlives the handle goes on
}

}  // namespace takt::api
