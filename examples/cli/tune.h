// -t auto: how many threads prefill and decode are fastest with, measured once a model and machine.
#pragma once

#include <cstdint>

#include <takt/takt.hpp>

#include "options.h"

namespace cli {

struct ThreadCounts {
    uint32_t prefill = 0, decode = 0;
};

// Sets what was measured before, or measures it now (about a second) and remembers it in the cache folder
// (TAKT_CACHE, else ~/.cache/takt). Returns what it set.
ThreadCounts tune_threads(const takt::Runtime& runtime, const takt::Model& model,
                          const CommonOptions& options);

}  // namespace cli
