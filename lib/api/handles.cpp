// Waiting for a request that a callback met before its submit call returned.
#include "api/handles.h"

#include <utility>

namespace takt::api {

void RequestEnd::set(std::unique_ptr<Request> request) noexcept {
    std::lock_guard lock(mutex_);
    request_ = std::move(request);
    changed_.notify_all();
}

Request& RequestEnd::get() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return request_ != nullptr; });
    return *request_;
}

std::unique_ptr<Request> RequestEnd::take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return request_ != nullptr; });
    return std::exchange(request_, nullptr);
}

const char* RequestEnd::message() {
    Request& request = get();
    const Status status = request.status();
    std::lock_guard lock(mutex_);
    if (message_.empty()) message_ = status.message();  // it changes once, from nothing to the sentence
    return message_.c_str();
}

SessionEnd::~SessionEnd() {
    if (session) calls->remove(session.get());
}

}  // namespace takt::api
