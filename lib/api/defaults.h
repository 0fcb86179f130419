// The default of every option struct, in one place: the same values that TAKT_…_INIT writes.
#pragma once

#include "takt/takt.h"

namespace takt::api {

inline takt_runtime_options default_runtime_options() {
    return TAKT_RUNTIME_OPTIONS_INIT;
}
inline takt_model_options default_model_options() {
    return TAKT_MODEL_OPTIONS_INIT;
}
inline takt_engine_options default_engine_options() {
    return TAKT_ENGINE_OPTIONS_INIT;
}
inline takt_profile_options default_profile_options() {
    return TAKT_PROFILE_OPTIONS_INIT;
}
inline takt_step_costs default_step_costs() {
    return TAKT_STEP_COSTS_INIT;
}
inline takt_quantize_options default_quantize_options() {
    return TAKT_QUANTIZE_OPTIONS_INIT;
}
inline takt_request_options default_request_options() {
    return TAKT_REQUEST_OPTIONS_INIT;
}

}  // namespace takt::api
