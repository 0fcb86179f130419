// One answer as a picture for a terminal: a bar a step, as long as its gap, by what it was spent on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

// Parts of a gap in ns, in the order of kGapParts.
inline constexpr std::size_t kGapPartCount = 7;
struct GapPart {
    char mark;
    const char* name;
};
inline constexpr GapPart kGapParts[kGapPartCount] = {
    {'#', "own compute"}, {'P', "prompts of others"}, {'d', "other decodes"}, {'w', "waiting for pages"},
    {'c', "callbacks"},   {'e', "other engines"},     {'.', "scheduler"},
};

struct TimelineStep {
    uint64_t first_token = 0, n_tokens = 1;  // the first of them, from 0; those of the step
    uint64_t gap_ns = 0;                     // before it
    uint64_t parts_ns[kGapPartCount] = {};
    uint64_t stalled_by = 0;  // request; 0: none
    std::string text;
};

struct TimelinePhases {
    uint64_t queue_ns = 0, prefill_ns = 0, decode_ns = 0, finish_ns = 0;
};

// Lines for phases, then for steps; of more than `most` steps the longest and where they stand. width:
// columns of a bar.
std::string timeline_text(const TimelinePhases& phases, const std::vector<TimelineStep>& steps,
                          std::size_t width = 60, std::size_t most = 100);

}  // namespace cli
