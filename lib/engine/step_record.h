// One step of an engine as it went, for whoever wants to see every step.
#pragma once

#include <cstdint>

namespace takt {

struct StepRecord {
    uint64_t index = 0;  // of the engine's steps, from 0
    uint64_t begin_ns = 0, end_ns = 0;
    uint64_t gap_ns = UINT64_MAX;  // since the end of the step before; the first has none
    uint32_t decode_rows = 0, prefill_rows = 0;
    uint32_t prefill_budget = 0;            // what ChunkBudget allowed; of an evaluation's step its own rows
    uint32_t generated_tokens = 0;          // that came of it
    uint32_t n_running = 0, n_waiting = 0;  // requests, while it ran
};

}  // namespace takt
