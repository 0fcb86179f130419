// Results of unknown size into the caller's buffer.
#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/status.h"

namespace takt::api {

// Writes the needed size, then the items if they fit. NULL with capacity 0 only asks. `name` is the buffer's
// argument.
template <typename T>
Status copy_out(std::span<const T> items, T* out, size_t capacity, size_t* out_size, std::string_view name) {
    *out_size = items.size();
    if (out == nullptr && capacity == 0) return {};
    if (capacity < items.size()) {
        return Status(StatusCode::buffer_too_small,
                      fmt::format("{} holds {}, {} are needed.", name, capacity, items.size()));
    }
    if (!items.empty()) std::memcpy(out, items.data(), items.size_bytes());
    return {};
}

template <typename T>
Status check_buffer(const T* out, size_t capacity, const size_t* out_size, std::string_view name,
                    std::string_view size_name) {
    if (out_size == nullptr)
        return Status(StatusCode::invalid_argument, fmt::format("{} is NULL.", size_name));
    if (out == nullptr && capacity > 0) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("{} is NULL, its capacity is {}.", name, capacity));
    }
    return {};
}

}  // namespace takt::api
