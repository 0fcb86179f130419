// In double: at position 100000 a float has lost the fourth digit of the angle's fraction.
#include "program/rope.h"

#include <algorithm>
#include <cmath>

namespace takt {

WeightId rope_factors(const RopeOp& op, uint32_t context_tokens) {
    return op.long_factors.valid() && context_tokens > op.short_context ? op.long_factors : op.factors;
}

double rope_frequency(const RopeOp& op, uint32_t pair, double factor) {
    const double plain = std::pow(static_cast<double>(op.base), -2.0 * pair / op.rotated_dim) / factor;
    if (op.ramp_end <= 0) return plain * op.frequency_scale;
    const double width = std::max(0.001, static_cast<double>(op.ramp_end) - op.ramp_begin);
    const double stretched = std::clamp((pair - static_cast<double>(op.ramp_begin)) / width, 0.0, 1.0);
    return plain * (op.frequency_scale * stretched + (1 - stretched));
}

}  // namespace takt
