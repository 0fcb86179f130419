// Greedy's choice from one row of logits, the same on every backend.
#pragma once

#include <cstdint>
#include <span>

namespace takt {

// The lowest id of the highest logit; -1 if any logit is NaN or infinite.
int32_t argmax_row(std::span<const float> logits);

}  // namespace takt
