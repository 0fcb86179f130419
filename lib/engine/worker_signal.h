// How an engine's worker is woken and waited for, whether it has a thread of its own or is driven by those
// who wait.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/os.h"
#include "base/status.h"

namespace takt {

// A round of a worker that is driven: with a step, or only what needs none (ends, errands).
enum class Round { with_step, without_step };
enum class Driven { stepped, idle, busy };  // idle: nothing could be done; busy: another thread is at it

// Outlives the engine, for handles that do.
struct WorkerSignal {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t version = 0;                // guarded by mutex
    std::atomic<bool> cancelled{false};  // some request was: those that wait must be looked at
    std::atomic<bool> let_go{false};     // some handle was destroyed: those kept must be looked at
    const os::Birthplace birthplace;
    // Does a round on the calling thread; empty where the worker has its own. Set before anyone waits.
    std::function<Driven(Round)> drive;

    // In a forked child nobody works for the engine: what is waited for never comes.
    bool forked() const { return birthplace.left(); }
    Status refuse_in_forked_child() const {
        if (!forked()) return {};
        return Status(StatusCode::invalid_state,
                      "The engine is of the parent of this forked process; its thread isn't here.");
    }
    void notify() {
        {
            const std::lock_guard lock(mutex);
            ++version;
        }
        changed.notify_all();
    }
};

// Waits until ready(), under the lock, and does the worker's rounds meanwhile where nobody else does. False
// when the time is over; UINT64_MAX waits for ever.
template <typename Ready>
bool wait_for(WorkerSignal& signal, std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
              uint64_t timeout_ns, Round round, Ready ready) {
    using Steady = std::chrono::steady_clock;
    constexpr uint64_t kLongestNs = uint64_t{3600} * 24 * 365 * 1'000'000'000;
    const bool for_ever = timeout_ns >= kLongestNs;
    const auto end = Steady::now() + std::chrono::nanoseconds(std::min(timeout_ns, kLongestNs));
    if (!signal.drive) {
        if (!for_ever) return changed.wait_until(lock, end, ready);
        changed.wait(lock, ready);
        return true;
    }
    // Another thread that drives may stop at any time.
    constexpr std::chrono::milliseconds kPoll{1};
    while (!ready()) {
        if (!for_ever && Steady::now() >= end) return false;
        lock.unlock();
        const Driven driven = signal.drive(round);
        lock.lock();
        if (driven == Driven::stepped || ready()) continue;
        changed.wait_until(lock, for_ever ? Steady::now() + kPoll : std::min(end, Steady::now() + kPoll));
    }
    return true;
}

}  // namespace takt
