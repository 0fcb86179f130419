// Why a request ended, and what that means for its numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace takt {

enum class FinishReason : int32_t { none, stop, length, cancelled, context_full, deadline, error };
inline constexpr uint32_t kFinishReasons = 7;

constexpr std::string_view finish_reason_name(FinishReason reason) {
    constexpr std::array<std::string_view, kFinishReasons> kNames = {
        "none", "stop", "length", "cancelled", "context_full", "deadline", "error"};
    return kNames[static_cast<size_t>(reason)];
}

// As metrics.md divides them: who got an answer, who went away, who was let down.
enum class RequestOutcome : uint32_t { ok, cancelled, failed };

constexpr RequestOutcome outcome_of(FinishReason reason) {
    switch (reason) {
        case FinishReason::stop:
        case FinishReason::length:
        case FinishReason::context_full:
            return RequestOutcome::ok;
        case FinishReason::cancelled:
            return RequestOutcome::cancelled;
        default:
            return RequestOutcome::failed;
    }
}

}  // namespace takt
