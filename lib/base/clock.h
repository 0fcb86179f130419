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

// From one reading to a later one; 0 where a caller's clock went back between them.
constexpr uint64_t elapsed_ns(uint64_t begin_ns, uint64_t end_ns) {
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

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
