// What the time between two tokens of a request was spent on.
#pragma once

#include <array>
#include <cstdint>

namespace takt {

// Who made a request wait, and how long: the part of other_prefill_ns that came of one request's prompt.
struct Stall {
    uint64_t request = 0;  // 0: nobody
    uint64_t ns = 0;
};

// The parts add up to the total, to the nanosecond.
struct GapParts {
    uint64_t total_ns = 0;
    uint64_t own_compute_ns = 0;    // its own rows, and its drafts
    uint64_t other_prefill_ns = 0;  // rows of others' prompts, and evaluations
    uint64_t other_decode_ns = 0;   // other decode rows, and their drafts
    uint64_t page_wait_ns = 0;      // it had given its pages away
    uint64_t callback_ns = 0;       // callbacks on the thread that steps
    uint64_t other_engines_ns = 0;  // other engines' turns on the runtime's threads
    uint64_t scheduler_ns = 0;      // the rest: building steps, sampling, errands
    Stall worst;                    // within other_prefill_ns: who took the most of it in one gap

    GapParts& operator+=(const GapParts& other) {
        total_ns += other.total_ns;
        own_compute_ns += other.own_compute_ns;
        other_prefill_ns += other.other_prefill_ns;
        other_decode_ns += other.other_decode_ns;
        page_wait_ns += other.page_wait_ns;
        callback_ns += other.callback_ns;
        other_engines_ns += other.other_engines_ns;
        scheduler_ns += other.scheduler_ns;
        if (other.worst.ns > worst.ns) worst = other.worst;
        return *this;
    }
    uint64_t sum_of_parts() const {
        return own_compute_ns + other_prefill_ns + other_decode_ns + page_wait_ns + callback_ns +
               other_engines_ns + scheduler_ns;
    }
};

// The requests that stalled one most; what others did is dropped when there are too many.
class StallList {
public:
    static constexpr size_t kMost = 8;
    void add(uint64_t request, uint64_t ns) {
        if (ns == 0) return;
        Stall* least = &entries_[0];
        for (Stall& entry : entries_) {
            if (entry.request == request) {
                entry.ns += ns;
                return;
            }
            if (entry.ns < least->ns) least = &entry;
        }
        if (ns > least->ns) *least = {request, ns};
    }
    const std::array<Stall, kMost>& entries() const { return entries_; }

private:
    std::array<Stall, kMost> entries_{};
};

}  // namespace takt
