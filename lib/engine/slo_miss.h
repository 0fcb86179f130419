// A broken bound, as it is told.
#pragma once

#include <cstdint>

#include "timing/slo.h"

namespace takt {

struct SloMiss {
    uint64_t request = 0;
    Bound bound = Bound::ttft;
    uint64_t bound_ns = 0, value_ns = 0;  // so far: what is still to come was late already
    uint64_t at_ns = 0;
    uint64_t token_index = 0;  // the token that was late, or is
};

}  // namespace takt
