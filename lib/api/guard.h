// The C border: a Status, or whatever is thrown, becomes a code and this thread's sentence.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "api/last_error.h"
#include "base/status.h"
#include "takt/takt.h"

namespace takt::api {

inline takt_status to_c(StatusCode code) noexcept {
    return static_cast<takt_status>(code);
}

inline takt_status fail(StatusCode code, std::string_view sentence) noexcept {
    set_last_error(sentence);
    return to_c(code);
}

// Runs body() -> Status. Every entry point that can fail is one call of this.
template <typename Body>
takt_status guard(Body&& body) noexcept {
    try {
        const Status status = std::forward<Body>(body)();
        return status.ok() ? TAKT_OK : fail(status.code(), status.message());
    } catch (const std::bad_alloc&) {
        return fail(StatusCode::out_of_memory, "There is not enough memory for this call.");
    } catch (const std::length_error&) {
        return fail(StatusCode::out_of_memory, "A size of this call is larger than memory can be.");
    } catch (const std::exception& error) {
        return fail(StatusCode::internal, error.what());
    } catch (...) {
        return fail(StatusCode::internal, "An exception of unknown type was thrown inside takt.");
    }
}

// For functions that return a value or nothing: `fallback` if anything is thrown.
template <typename Value, typename Body>
Value guard_value(Value fallback, Body&& body) noexcept {
    try {
        return std::forward<Body>(body)();
    } catch (...) {
        return fallback;
    }
}

template <typename Body>
void guard_void(Body&& body) noexcept {
    try {
        std::forward<Body>(body)();
    } catch (...) {
    }
}

inline Status null_argument(std::string_view name) {
    return Status(StatusCode::invalid_argument, std::string(name) + " is NULL.");
}

}  // namespace takt::api

// Returns an error naming the argument from the calling function if POINTER is NULL.
#define TAKT_RETURN_IF_NULL(POINTER)                                           \
    do {                                                                       \
        if ((POINTER) == nullptr) return ::takt::api::null_argument(#POINTER); \
    } while (false)
