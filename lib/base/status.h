// Status (code and sentence) and Result<T>: how every failure travels inside takt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace takt {

// Equal, value for value, to the TAKT_ERROR_… constants of takt.h; lib/api checks that with static_assert.
enum class StatusCode : int32_t {
    ok = 0,
    invalid_argument = -1,  // the call
    invalid_state = -2,     // right call, wrong moment (inside a callback, after an end)
    not_found = -3,         // a named thing (backend, device) that isn't there
    cancelled = -4,         // a callback or another thread asked to stop
    timed_out = -5,         // a wait ended without an event
    prompt_too_long = -6,   // need and have are in the sentence
    prompt_empty = -7,
    buffer_too_small = -8,  // the needed size was written to the out parameter
    unsupported = -9,       // a documented feature that this build or file lacks
    queue_full = -10,
    file_not_found = -100,  // the file
    file_io = -101,
    file_truncated = -102,
    file_invalid = -103,       // not GGUF, or a field that contradicts the format
    file_unsupported = -104,   // GGUF, but a version, byte order or type that takt doesn't read
    state_corrupt = -105,      // an exported state that is cut, changed or none at all
    state_mismatch = -106,     // one of another model, layout or version
    model_unsupported = -200,  // the model: a family or tensor type takt doesn't run
    model_invalid = -201,      // hyperparameters or tensors that contradict each other
    tokenizer_invalid = -202,
    template_missing = -203,
    template_error = -204,  // line and column are in the sentence
    logits_not_finite = -205,
    no_token_allowed = -206,
    out_of_memory = -300,  // the device
    device_failed = -301,
    internal = -900,
};

class [[nodiscard]] Status {
public:
    Status() = default;
    Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

    bool ok() const { return code_ == StatusCode::ok; }
    StatusCode code() const { return code_; }
    const std::string& message() const { return message_; }

    // "loading model: <message>"; an ok status stays as it is.
    Status with_context(std::string_view context) const& {
        if (ok()) return *this;
        return Status(code_, std::string(context) + ": " + message_);
    }

private:
    StatusCode code_ = StatusCode::ok;
    std::string message_;
};

template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
    Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
    Result(StatusCode code, std::string message) : status_(code, std::move(message)) {}

    bool ok() const { return value_.has_value(); }
    const Status& status() const { return status_; }
    T& value() & { return *value_; }
    const T& value() const& { return *value_; }
    T&& value() && { return std::move(*value_); }
    T& operator*() & { return *value_; }
    T&& operator*() && { return *std::move(value_); }
    const T& operator*() const& { return *value_; }
    T* operator->() { return &*value_; }
    const T* operator->() const { return &*value_; }

private:
    std::optional<T> value_;
    Status status_;
};

}  // namespace takt

// Returns the status of EXPRESSION from the calling function if it is a failure.
#define TAKT_RETURN_IF_ERROR(EXPRESSION)                                                         \
    do {                                                                                         \
        if (::takt::Status takt_status_ = (EXPRESSION); !takt_status_.ok()) return takt_status_; \
    } while (false)
