// What a caller may ask of the sampler, refused by field and value.
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "sampler/sampler_chain.h"

namespace takt {
namespace {

constexpr float kGreedyBelow =
    1e-6f;  // differences of logits divided by less tell nothing but which is the highest

Status refuse(std::string_view field, float value, std::string_view rule) {
    return Status(StatusCode::invalid_argument, fmt::format("{} is {}, must be {}.", field, value, rule));
}

bool within(float value, float low, float high) {
    return value >= low && value <= high;
}  // false for NaN

Status check_bias(const std::vector<std::pair<int32_t, float>>& bias, uint32_t vocab_size) {
    for (size_t i = 0; i < bias.size(); ++i) {
        const auto [id, value] = bias[i];
        if (id < 0 || static_cast<uint32_t>(id) >= vocab_size) {
            return Status(StatusCode::invalid_argument,
                          fmt::format("logit_bias[{}] is for token {}, the vocabulary has {} tokens.", i, id,
                                      vocab_size));
        }
        if (std::isnan(value) || value == INFINITY) {
            return Status(
                StatusCode::invalid_argument,
                fmt::format("logit_bias[{}] of token {} is {}, must be finite or -inf.", i, id, value));
        }
    }
    return {};
}

}  // namespace

Status SamplerOptions::check(uint32_t vocab_size) const {
    if (!within(temperature, 0, 3e38f) || std::isinf(temperature))
        return refuse("temperature", temperature, "0 or more, and finite");
    if (!within(top_p, 0, 1)) return refuse("top_p", top_p, "0 to 1");
    if (!within(min_p, 0, 1)) return refuse("min_p", min_p, "0 to 1");
    if (!(repetition_penalty > 0) || std::isinf(repetition_penalty))
        return refuse("repetition_penalty", repetition_penalty, "more than 0, and finite");
    if (!std::isfinite(frequency_penalty)) return refuse("frequency_penalty", frequency_penalty, "finite");
    if (!std::isfinite(presence_penalty)) return refuse("presence_penalty", presence_penalty, "finite");
    return check_bias(logit_bias, vocab_size);
}

bool SamplerOptions::is_greedy() const {
    return temperature < kGreedyBelow || top_k == 1;
}

bool SamplerOptions::has_penalties() const {
    return penalty_tokens > 0 && (repetition_penalty != 1 || frequency_penalty != 0 || presence_penalty != 0);
}

bool SamplerOptions::is_plain_greedy() const {
    return is_greedy() && !has_penalties() && logit_bias.empty();
}

}  // namespace takt
