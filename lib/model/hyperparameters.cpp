// Every message names the key and the value.
#include "model/hyperparameters.h"

#include <cmath>

#include <fmt/format.h>

namespace takt {

std::string Hyperparameters::key(std::string_view name) const {
    return fmt::format("{}.{}", family_, name);
}

void Hyperparameters::fail(StatusCode code, std::string message) {
    if (status_.ok()) status_ = Status(code, std::move(message));
}

void Hyperparameters::fail_missing(std::string_view name) {
    fail(StatusCode::model_invalid, fmt::format("{} is missing.", key(name)));
}

std::optional<uint64_t> Hyperparameters::find_integer(std::string_view name) {
    const Result<std::optional<uint64_t>> found = file_.get_uint(key(name));
    if (!found.ok()) fail(found.status().code(), found.status().message());
    return found.ok() ? *found : std::nullopt;
}

std::optional<double> Hyperparameters::find_float(std::string_view name) {
    const Result<std::optional<double>> found = file_.get_float(key(name));
    if (!found.ok()) fail(found.status().code(), found.status().message());
    return found.ok() ? *found : std::nullopt;
}

uint32_t Hyperparameters::in_range(std::string_view name, uint64_t value, Range range) {
    if (value >= range.low && value <= range.high) return static_cast<uint32_t>(value);
    if (value < range.low)
        fail(StatusCode::model_invalid,
             fmt::format("{} is {}, must be at least {}.", key(name), value, range.low));
    else
        fail(StatusCode::model_invalid,
             fmt::format("{} is {}, exceeds the maximum of {}.", key(name), value, range.high));
    return 0;
}

uint32_t Hyperparameters::required(std::string_view name, Range range) {
    const std::optional<uint64_t> value = find_integer(name);
    if (!value) return fail_missing(name), 0;
    return in_range(name, *value, range);
}

uint32_t Hyperparameters::optional(std::string_view name, uint32_t fallback, Range range) {
    const std::optional<uint64_t> value = find_integer(name);
    return value ? in_range(name, *value, range) : fallback;
}

std::vector<uint32_t> Hyperparameters::each_layer(std::string_view name, std::optional<uint32_t> fallback,
                                                  uint32_t n_layers, Range range) {
    const GgufEntry* found = entry(name);
    if (!found && !fallback) fail_missing(name);
    if (!found) return std::vector<uint32_t>(n_layers, fallback.value_or(0));
    const auto* array = std::get_if<std::shared_ptr<const GgufArray>>(&found->value);
    if (!array) return std::vector<uint32_t>(n_layers, required(name, range));
    return entries(name, **array, n_layers, range);
}

std::vector<uint32_t> Hyperparameters::entries(std::string_view name, const GgufArray& array,
                                               uint32_t n_layers, Range range) {
    std::vector<uint32_t> values(n_layers, 0);
    if (array.size() != n_layers) {
        fail(StatusCode::model_invalid, fmt::format("{} is an array of length {}, the model has {} layers.",
                                                    key(name), array.size(), n_layers));
        return values;
    }
    for (size_t i = 0; i < n_layers; ++i) {
        if (array.unsigneds.empty() && array.signeds.empty()) {
            fail(StatusCode::model_invalid, fmt::format("{} is an array of type {}, must hold integers.",
                                                        key(name), gguf_type_name(array.element_type)));
            return values;
        }
        if (array.unsigneds.empty() && array.signeds[i] < 0) {
            fail(StatusCode::model_invalid, fmt::format("{} holds {} for layer {}, must not be negative.",
                                                        key(name), array.signeds[i], i));
            return values;
        }
        values[i] = in_range(
            name, array.unsigneds.empty() ? static_cast<uint64_t>(array.signeds[i]) : array.unsigneds[i],
            range);
    }
    return values;
}

float Hyperparameters::positive(std::string_view name, double value) {
    const float narrow = static_cast<float>(value);
    if (narrow > 0 && std::isfinite(narrow)) return narrow;
    fail(StatusCode::model_invalid, fmt::format("{} is {}, must be positive and finite.", key(name), value));
    return 0;
}

float Hyperparameters::required_positive(std::string_view name) {
    const std::optional<double> value = find_float(name);
    if (!value) return fail_missing(name), 0.0f;
    return positive(name, *value);
}

float Hyperparameters::optional_positive(std::string_view name, float fallback) {
    const std::optional<double> value = find_float(name);
    return value ? positive(name, *value) : fallback;
}

float Hyperparameters::optional_or_zero(std::string_view name) {
    const std::optional<double> value = find_float(name);
    return value && *value != 0 ? positive(name, *value) : 0.0f;
}

std::optional<bool> Hyperparameters::flag(std::string_view name) {
    const Result<std::optional<bool>> found = file_.get_bool(key(name));
    if (!found.ok()) fail(found.status().code(), found.status().message());
    return found.ok() ? *found : std::nullopt;
}

std::string Hyperparameters::text(std::string_view name) {
    const Result<std::optional<std::string_view>> found = file_.get_string(key(name));
    if (!found.ok()) fail(found.status().code(), found.status().message());
    return found.ok() && *found ? std::string(**found) : std::string();
}

}  // namespace takt
