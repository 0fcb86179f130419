// What has happened to a request since its last token, for whoever asks what its gap was spent on.
#pragma once

#include <cstdint>

#include "timing/gap.h"

namespace takt {

// Time that passed for all that run, besides steps of their rows; it only grows.
struct Meanwhile {
    uint64_t callback_ns = 0, other_engines_ns = 0, evaluation_ns = 0, draft_ns = 0;

    Meanwhile operator-(const Meanwhile& other) const {
        return {callback_ns - other.callback_ns, other_engines_ns - other.other_engines_ns,
                evaluation_ns - other.evaluation_ns, draft_ns - other.draft_ns};
    }
    Meanwhile operator+(const Meanwhile& other) const {
        return {callback_ns + other.callback_ns, other_engines_ns + other.other_engines_ns,
                evaluation_ns + other.evaluation_ns, draft_ns + other.draft_ns};
    }
};

struct GapState {
    bool open = false;           // it has a token
    uint64_t last_token_ns = 0;  // sampled
    Meanwhile since;             // as it stood then, later by what passed while it had no pages
    Meanwhile at_preemption;
    uint64_t own_ns = 0, other_prefill_ns = 0, other_decode_ns = 0, own_draft_ns = 0, page_wait_ns = 0;
    Stall worst;                     // of this gap
    StallList stalled_by;            // of all gaps
    uint64_t stalled_others_ns = 0;  // not told yet
};

}  // namespace takt
