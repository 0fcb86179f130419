// Plain arguments of the C interface that allow only some values: anything else is refused by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "base/status.h"
#include "engine/callback_guard.h"
#include "engine/runtime.h"

namespace takt::api {

constexpr size_t kMaxTextBytes = (size_t{1} << 31) - 1;

inline Status check_text(const char* text, size_t text_bytes, std::string_view name) {
    if (text == nullptr && text_bytes > 0) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("{} is NULL, {}_bytes is {}.", name, name, text_bytes));
    }
    if (text_bytes > kMaxTextBytes) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("{} has {} bytes, at most {} are read.", name, text_bytes, kMaxTextBytes));
    }
    return {};
}

inline Status check_switch(uint32_t value, std::string_view name) {
    if (value <= 1) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("{} is {}, only 0 and 1 have a meaning.", name, value));
}

// constants: the names of the values, "TAKT_DRAFTS_…".
inline Status check_choice(uint32_t value, uint32_t highest, std::string_view name,
                           std::string_view constants) {
    if (value <= highest) return {};
    return Status(StatusCode::invalid_argument, fmt::format("{} is {}, must be 0 {} {} ({}).", name, value,
                                                            highest == 1 ? "or" : "to", highest, constants));
}

inline Status check_flags(uint32_t value, uint32_t known, std::string_view name) {
    if ((value & ~known) == 0) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("{} is {:#x}; the bits {:#x} have no meaning.", name, value, value & ~known));
}

inline Status check_reserved(uint32_t value, std::string_view name) {
    if (value == 0) return {};
    return Status(StatusCode::invalid_argument, fmt::format("{} is {}, it must be 0.", name, value));
}

// A load keeps every other one waiting, and its own callbacks may not wait; a forked child has no threads to
// wait for.
inline Status check_may_load(const Runtime& runtime, std::string_view call) {
    if (CallbackThreads::holds_up_every_engine()) {
        return Status(StatusCode::invalid_state,
                      fmt::format("{} can't be called inside a progress or log callback.", call));
    }
    if (runtime.forked()) {
        return Status(
            StatusCode::invalid_state,
            fmt::format("{}: the runtime's threads are those of this forked process' parent.", call));
    }
    return {};
}

}  // namespace takt::api
