// -t auto: how many threads prefill and decode are fastest with, measured once a model and machine.
#pragma once

#include <takt/takt.hpp>

#include "options.h"

namespace cli {

// Sets what was measured before, or measures it now (about a second) and remembers it in the cache folder
// (TAKT_CACHE, else ~/.cache/takt).
void tune_threads(const takt::Runtime& runtime, const takt::Model& model, const CommonOptions& options);

}  // namespace cli
