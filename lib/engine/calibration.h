// How much the columns of a model's matrices matter, by running it over a text.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "engine/runtime.h"
#include "model/model.h"
#include "quantize/importance.h"

namespace takt {

struct CalibrationOptions {
    std::string backend;           // "": the best one
    std::span<const int32_t> ids;  // cut into windows; each begins at position 0
    uint32_t window_tokens = 512;  // a rest of fewer than two is left out
    // Tokens done and in all; false asks to stop, which ends with `cancelled`. On the calling thread.
    std::function<bool(uint64_t done, uint64_t total)> progress;
};

// The mean square of each matrix' inputs over all rows. Loads the weights if no engine has.
Result<Importance> measure_importance(Runtime& runtime, const Model& model,
                                      const CalibrationOptions& options);

}  // namespace takt
