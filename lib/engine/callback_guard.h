// Which threads are inside a callback of an engine: calls that wait are refused there, and a destroy is
// deferred.
#pragma once

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace takt {

class CallbackThreads {
public:
    CallbackThreads() { inside_.reserve(64); }
    bool contains_this_thread() const {
        const std::lock_guard lock(mutex_);
        return std::find(inside_.begin(), inside_.end(), std::this_thread::get_id()) != inside_.end();
    }

    // Marks the calling thread for the length of one callback.
    class Scope {
    public:
        explicit Scope(CallbackThreads& threads) : threads_(threads) {
            const std::lock_guard lock(threads_.mutex_);
            threads_.inside_.push_back(std::this_thread::get_id());
        }
        ~Scope() {
            const std::lock_guard lock(threads_.mutex_);
            auto& inside = threads_.inside_;
            inside.erase(std::find(inside.begin(), inside.end(), std::this_thread::get_id()));
        }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        CallbackThreads& threads_;
    };

private:
    mutable std::mutex mutex_;
    std::vector<std::thread::id> inside_;
};

}  // namespace takt
