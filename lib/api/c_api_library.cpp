// Version, names of numbers, last error, defaults of the option structs.
#include "api/defaults.h"
#include "api/guard.h"
#include "api/struct_copy.h"
#include "base/status.h"
#include "engine/request.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

namespace {

struct StatusName {
    takt_status status;
    StatusCode code;
    const char* name;
};

#define TAKT_STATUS(NAME, CODE)       \
    StatusName {                      \
        NAME, StatusCode::CODE, #NAME \
    }
constexpr StatusName kStatusNames[] = {
    TAKT_STATUS(TAKT_OK, ok),
    TAKT_STATUS(TAKT_ERROR_INVALID_ARGUMENT, invalid_argument),
    TAKT_STATUS(TAKT_ERROR_INVALID_STATE, invalid_state),
    TAKT_STATUS(TAKT_ERROR_NOT_FOUND, not_found),
    TAKT_STATUS(TAKT_ERROR_CANCELLED, cancelled),
    TAKT_STATUS(TAKT_ERROR_TIMED_OUT, timed_out),
    TAKT_STATUS(TAKT_ERROR_PROMPT_TOO_LONG, prompt_too_long),
    TAKT_STATUS(TAKT_ERROR_PROMPT_EMPTY, prompt_empty),
    TAKT_STATUS(TAKT_ERROR_BUFFER_TOO_SMALL, buffer_too_small),
    TAKT_STATUS(TAKT_ERROR_UNSUPPORTED, unsupported),
    TAKT_STATUS(TAKT_ERROR_QUEUE_FULL, queue_full),
    TAKT_STATUS(TAKT_ERROR_FILE_NOT_FOUND, file_not_found),
    TAKT_STATUS(TAKT_ERROR_FILE_IO, file_io),
    TAKT_STATUS(TAKT_ERROR_FILE_TRUNCATED, file_truncated),
    TAKT_STATUS(TAKT_ERROR_FILE_INVALID, file_invalid),
    TAKT_STATUS(TAKT_ERROR_FILE_UNSUPPORTED, file_unsupported),
    TAKT_STATUS(TAKT_ERROR_STATE_CORRUPT, state_corrupt),
    TAKT_STATUS(TAKT_ERROR_STATE_MISMATCH, state_mismatch),
    TAKT_STATUS(TAKT_ERROR_MODEL_UNSUPPORTED, model_unsupported),
    TAKT_STATUS(TAKT_ERROR_MODEL_INVALID, model_invalid),
    TAKT_STATUS(TAKT_ERROR_TOKENIZER_INVALID, tokenizer_invalid),
    TAKT_STATUS(TAKT_ERROR_TEMPLATE_MISSING, template_missing),
    TAKT_STATUS(TAKT_ERROR_TEMPLATE, template_error),
    TAKT_STATUS(TAKT_ERROR_LOGITS_NOT_FINITE, logits_not_finite),
    TAKT_STATUS(TAKT_ERROR_NO_TOKEN_ALLOWED, no_token_allowed),
    TAKT_STATUS(TAKT_ERROR_OUT_OF_MEMORY, out_of_memory),
    TAKT_STATUS(TAKT_ERROR_DEVICE_FAILED, device_failed),
    TAKT_STATUS(TAKT_ERROR_INTERNAL, internal),
};
#undef TAKT_STATUS

// The codes inside and outside are the same numbers.
constexpr bool codes_agree() {
    for (const StatusName& entry : kStatusNames) {
        if (entry.status != static_cast<takt_status>(entry.code)) return false;
    }
    return true;
}
static_assert(codes_agree());

static_assert(static_cast<int32_t>(FinishReason::none) == TAKT_FINISH_NONE);
static_assert(static_cast<int32_t>(FinishReason::stop) == TAKT_FINISH_STOP);
static_assert(static_cast<int32_t>(FinishReason::length) == TAKT_FINISH_LENGTH);
static_assert(static_cast<int32_t>(FinishReason::cancelled) == TAKT_FINISH_CANCELLED);
static_assert(static_cast<int32_t>(FinishReason::context_full) == TAKT_FINISH_CONTEXT_FULL);
static_assert(static_cast<int32_t>(FinishReason::deadline) == TAKT_FINISH_DEADLINE);
static_assert(static_cast<int32_t>(FinishReason::error) == TAKT_FINISH_ERROR);
static_assert(static_cast<int32_t>(EventType::token) == TAKT_EVENT_TOKEN);
static_assert(static_cast<int32_t>(EventType::finished) == TAKT_EVENT_FINISHED);

#define TAKT_TEXT_OF(NUMBER) #NUMBER
#define TAKT_VERSION_TEXT(MAJOR, MINOR, PATCH) \
    TAKT_TEXT_OF(MAJOR) "." TAKT_TEXT_OF(MINOR) "." TAKT_TEXT_OF(PATCH)

}  // namespace

takt_status takt_runtime_options_init(takt_runtime_options* options, size_t struct_size) {
    return guard([&] { return init_struct(default_runtime_options(), options, struct_size); });
}

takt_status takt_model_options_init(takt_model_options* options, size_t struct_size) {
    return guard([&] { return init_struct(default_model_options(), options, struct_size); });
}

takt_status takt_engine_options_init(takt_engine_options* options, size_t struct_size) {
    return guard([&] { return init_struct(default_engine_options(), options, struct_size); });
}

takt_status takt_quantize_options_init(takt_quantize_options* options, size_t struct_size) {
    return guard([&] { return init_struct(default_quantize_options(), options, struct_size); });
}

takt_status takt_request_options_init(takt_request_options* options, size_t struct_size) {
    return guard([&] { return init_struct(default_request_options(), options, struct_size); });
}

takt_status takt_profile_options_init(takt_profile_options* options, size_t struct_size) {
    return guard([&] { return init_struct(default_profile_options(), options, struct_size); });
}

takt_status takt_step_costs_init(takt_step_costs* options, size_t struct_size) {
    return guard([&] { return init_struct(default_step_costs(), options, struct_size); });
}

const char* takt_version(void) {
    return TAKT_VERSION_TEXT(TAKT_VERSION_MAJOR, TAKT_VERSION_MINOR, TAKT_VERSION_PATCH);
}

const char* takt_last_error(void) {
    return last_error();
}

const char* takt_status_name(takt_status status) {
    for (const StatusName& entry : kStatusNames) {
        if (entry.status == status) return entry.name;
    }
    return "TAKT_ERROR_UNKNOWN";
}

const char* takt_finish_reason_name(int32_t finish_reason) {
    if (finish_reason < 0 || finish_reason >= static_cast<int32_t>(kFinishReasons)) return "unknown";
    return finish_reason_name(static_cast<FinishReason>(finish_reason)).data();  // literals have their end
}
