// Frequencies from the rope keys: linear scaling and YaRN. Factor tensors and LongRoPE are their families'
// own.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/families/parts.h"

namespace takt {
namespace {

// Pairs that turn more than beta_fast times in the original context keep their frequency; those that turn
// less than beta_slow times are divided by the factor.
void stretch_by_yarn(const RopeScaling& scaling, YarnBounds bounds, RopeOp& rope) {
    const auto pair_that_turns = [&](double turns) {
        return rope.rotated_dim * std::log(scaling.original_context / (turns * 2 * std::numbers::pi)) /
               (2 * std::log(static_cast<double>(rope.base)));
    };
    double begin = pair_that_turns(scaling.beta_fast), end = pair_that_turns(scaling.beta_slow);
    if (bounds == YarnBounds::whole_pairs) {
        begin = std::floor(begin);
        end = std::ceil(end);
    }
    rope.frequency_scale = 1 / scaling.factor;
    rope.ramp_begin = static_cast<float>(std::max(begin, 0.0));
    rope.ramp_end = static_cast<float>(std::clamp(end, 1e-3, rope.rotated_dim - 1.0));
    // A log multiplier takes the growth of magnitude back, by its part.
    const double log_factor = scaling.factor <= 1 ? 0 : 0.1 * std::log(static_cast<double>(scaling.factor));
    const double grown = (log_factor + 1) / (scaling.log_multiplier * log_factor + 1);
    rope.magnitude =
        static_cast<float>(grown) * (scaling.attention_factor > 0 ? scaling.attention_factor : 1);
}

}  // namespace

RopeOp rope_shape(const ModelConfig& config, RopeStyle style, WeightId factors, YarnBounds bounds) {
    RopeOp rope;
    rope.head_dim = config.key_dim;
    rope.rotated_dim = config.rope_rotated_dim;
    rope.style = style;
    rope.base = config.rope_base;
    rope.factors = factors;
    const RopeScaling& scaling = config.rope_scaling;
    if (scaling.kind == RopeScaling::Kind::linear) rope.frequency_scale = 1 / scaling.factor;
    if (scaling.kind == RopeScaling::Kind::yarn) stretch_by_yarn(scaling, bounds, rope);
    if (scaling.kind != RopeScaling::Kind::yarn && scaling.attention_factor > 0)
        rope.magnitude = scaling.attention_factor;
    return rope;
}

}  // namespace takt
