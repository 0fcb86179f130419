// What the time between two tokens of a request was spent on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace takt {

// Who made a request wait, and how long: the part of other_prefill_ns that came of one request's prompt.
struct Stall {
    uint64_t request = 0;  // 0: nobody
    uint64_t ns = 0;
};

// The causes add up to the total, to the nanosecond.
struct GapCauses {
    uint64_t total_ns = 0;
    uint64_t own_compute_ns = 0;    // its own rows, and its drafts
    uint64_t other_prefill_ns = 0;  // rows of others' prompts, and evaluations
    uint64_t other_decode_ns = 0;   // other decode rows, and their drafts
    uint64_t page_wait_ns = 0;      // it had given its pages away
    uint64_t callback_ns = 0;       // callbacks on the thread that steps
    uint64_t other_engines_ns = 0;  // other engines' turns on the runtime's threads
    uint64_t scheduler_ns = 0;      // the rest: building steps, sampling, errands

    GapCauses& operator+=(const GapCauses& other);
    uint64_t sum_of_parts() const;
};

struct GapCause {
    std::string_view name;
    uint64_t GapCauses::* ns;
};
inline constexpr GapCause kGapCauses[] = {
    {"own_compute", &GapCauses::own_compute_ns},   {"other_prefill", &GapCauses::other_prefill_ns},
    {"other_decode", &GapCauses::other_decode_ns}, {"page_wait", &GapCauses::page_wait_ns},
    {"callback", &GapCauses::callback_ns},         {"other_engines", &GapCauses::other_engines_ns},
    {"scheduler", &GapCauses::scheduler_ns},
};

inline GapCauses& GapCauses::operator+=(const GapCauses& other) {
    total_ns += other.total_ns;
    for (const GapCause& cause : kGapCauses) this->*cause.ns += other.*cause.ns;
    return *this;
}

inline uint64_t GapCauses::sum_of_parts() const {
    uint64_t sum = 0;
    for (const GapCause& cause : kGapCauses) sum += this->*cause.ns;
    return sum;
}

// Of one gap, or of some together.
struct GapParts : GapCauses {
    Stall worst;  // within other_prefill_ns: who took the most of it in one gap

    GapParts& operator+=(const GapParts& other) {
        GapCauses::operator+=(other);
        if (other.worst.ns > worst.ns) worst = other.worst;
        return *this;
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
