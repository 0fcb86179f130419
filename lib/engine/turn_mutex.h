// A lock that is given in the order it was asked for, so that the engines of a runtime take turns.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace takt {

class TurnMutex {
public:
    void lock() {
        std::unique_lock guard(mutex_);
        const uint64_t mine = next_++;
        changed_.wait(guard, [&] { return serving_ == mine; });
    }
    void unlock() {
        {
            const std::lock_guard guard(mutex_);
            ++serving_;
        }
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t next_ = 0, serving_ = 0;
};

}  // namespace takt
