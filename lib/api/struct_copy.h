// Structs of callers that were compiled against an older or newer takt: min(struct_size, own) bytes are read
// and written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "base/status.h"
#include "takt/takt.h"

namespace takt::api {

// Size in the first release that had the struct; frozen here when a struct grows.
template <typename T>
constexpr size_t kFirstSize = sizeof(T);
template <>
inline constexpr size_t kFirstSize<takt_model_options> = offsetof(takt_model_options, packed_cache_dir);
template <>
inline constexpr size_t kFirstSize<takt_engine_options> = offsetof(takt_engine_options, memory_limit_bytes);
template <>
inline constexpr size_t kFirstSize<takt_request_options> = offsetof(takt_request_options, context_policy);
template <>
inline constexpr size_t kFirstSize<takt_event> = offsetof(takt_event, dropped_tokens);
template <>
inline constexpr size_t kFirstSize<takt_timing> = offsetof(takt_timing, dropped_tokens);
template <>
inline constexpr size_t kFirstSize<takt_memory_plan> = offsetof(takt_memory_plan, kv_tokens);

template <typename T>
Status check_struct_size(size_t struct_size, std::string_view name) {
    if (struct_size >= kFirstSize<T>) return {};
    return Status(StatusCode::invalid_argument, fmt::format("{}->struct_size is {}, at least {} is needed.",
                                                            name, struct_size, kFirstSize<T>));
}

// `defaults` stands in for fields that the caller's struct doesn't have yet.
template <typename T>
Result<T> read_struct(const T* from, std::string_view name, const T& defaults) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (from == nullptr) return Status(StatusCode::invalid_argument, fmt::format("{} is NULL.", name));
    TAKT_RETURN_IF_ERROR(check_struct_size<T>(from->struct_size, name));
    T own = defaults;
    std::memcpy(&own, from, std::min(from->struct_size, sizeof(T)));
    return own;
}

// The same where NULL stands for the defaults.
template <typename T>
Result<T> read_optional_struct(const T* from, std::string_view name, const T& defaults) {
    return from == nullptr ? Result<T>(defaults) : read_struct(from, name, defaults);
}

template <typename T>
Status check_output(const T* out, std::string_view name) {
    if (out == nullptr) return Status(StatusCode::invalid_argument, fmt::format("{} is NULL.", name));
    return check_struct_size<T>(out->struct_size, name);
}

// out has passed check_output. Its struct_size becomes the number of bytes filled.
template <typename T>
void write_struct(T full, T* out) {
    static_assert(std::is_trivially_copyable_v<T>);
    full.struct_size = std::min(out->struct_size, sizeof(T));
    std::memcpy(out, &full, full.struct_size);
}

// takt_<x>_options_init: struct_size stays the caller's, so that later fields of a newer caller are known to
// be there.
template <typename T>
Status init_struct(const T& defaults, T* options, size_t struct_size) {
    if (options == nullptr) return Status(StatusCode::invalid_argument, "options is NULL.");
    if (struct_size < kFirstSize<T>) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("struct_size is {}, at least {} is needed.", struct_size, kFirstSize<T>));
    }
    std::memcpy(options, &defaults, std::min(struct_size, sizeof(T)));
    options->struct_size = struct_size;
    return {};
}

}  // namespace takt::api
