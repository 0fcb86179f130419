// Who a step's time belongs to, among the requests that had rows in it.
#pragma once

#include <cstdint>

namespace takt {

// A step is taken as what its decode rows cost alone, as measured, and the prompt rows on top of that; prompt
// rows cost the same each, and decode rows by what one and all of them cost.
struct StepShares {
    uint64_t decode_ns = 0, prefill_ns = 0;  // add up to the step
    uint32_t decode_rows = 0, prefill_rows = 0;

    // decode_cost_ns: of a step with as many decode rows alone; 0 where that isn't known.
    static StepShares of(uint64_t step_ns, uint32_t decode_rows, uint32_t prefill_rows,
                         double decode_cost_ns);
    // Of prompt rows.
    uint64_t prefill_part_ns(uint32_t n_rows) const;
    // Of decode rows; cost_ratio: what they cost alone beside all decode rows, 0 where that isn't known.
    uint64_t decode_part_ns(uint32_t n_rows, double cost_ratio) const;
};

}  // namespace takt
