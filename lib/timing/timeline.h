// Raw stamps of one request, in ns on the runtime's clock; everything else is derived from them
// (timing_summary.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "timing/gap.h"

namespace takt {

// Tokens that one step gave to one request.
struct StepStamp {
    uint64_t computed_ns = 0;  // the backend was done
    uint64_t sampled_ns = 0;   // the tokens were chosen: `ready`
    uint64_t compute_ns = 0;   // backend time; of the first stamp: of all prefill steps of the request
    uint32_t n_tokens = 0;     // 1, or more where several positions were verified at once
};

struct Timeline {
    uint64_t submitted_ns = 0;
    // The first step that held a row of it began; of an imported one its state began to come.
    std::optional<uint64_t> scheduled_ns;
    std::optional<uint64_t> finished_ns;
    uint64_t handover_ns = 0;      // an imported state was on its way: the first part of its prefill
    uint64_t preempted_ns = 0;     // waited after a preemption, before the first token
    uint32_t n_preemptions = 0;    // times it gave its pages away, to be computed again
    uint32_t n_slides = 0;         // times its context was full and lost its oldest tokens
    uint64_t dropped_tokens = 0;   // that went
    std::vector<StepStamp> steps;  // steps that gave tokens; reserved when the request is submitted
    uint64_t prompt_tokens = 0, cached_tokens = 0;
    uint64_t computed_tokens = 0;  // of the prompt, by steps of this request so far
    // Of the drafts behind the last token, by their place among them: how many were verified, and accepted.
    std::array<uint32_t, 16> drafted{}, accepted{};
    uint64_t draft_ns = 0;           // its part of the draft model's steps
    GapParts gaps, longest_gap;      // all step gaps together; the longest of them
    StallList stalled_by;            // within gaps.other_prefill_ns
    uint64_t stalled_others_ns = 0;  // what its prompt added to the step gaps of others, all together
    uint32_t turn = 1;               // of its conversation
};

}  // namespace takt
