// The monotonic clock behind every stamp, replaceable in tests.
#pragma once

#include <atomic>
#include <cstdint>

namespace takt {

class Clock {
public:
    virtual ~Clock() = default;
    virtual uint64_t now_ns() const = 0;  // thread-safe, never goes back
};

class SteadyClock final : public Clock {
public:
    uint64_t now_ns() const override;
};

// Stands still until told otherwise. Tests advance it from a backend's run or from a callback.
class ManualClock final : public Clock {
public:
    explicit ManualClock(uint64_t start_ns = 0) : now_(start_ns) {}
    uint64_t now_ns() const override { return now_.load(); }
    void advance_ns(uint64_t ns) { now_.fetch_add(ns); }

private:
    std::atomic<uint64_t> now_;
};

}  // namespace takt
