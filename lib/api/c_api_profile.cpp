// The profile of a step.
#include "api/arguments.h"
#include "api/engine_options.h"
#include "api/defaults.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/profile_json.h"
#include "api/struct_copy.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

takt_status takt_model_profile(const takt_model* model, const takt_profile_options* options,
                               takt_text_callback on_profile, void* user_data) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        TAKT_RETURN_IF_NULL(on_profile);
        TAKT_RETURN_IF_ERROR(check_may_load(*model->runtime, "takt_model_profile"));
        const Result<takt_profile_options> read =
            read_optional_struct(options, "options", default_profile_options());
        if (!read.ok()) return read.status();
        const takt_profile_options& given = *read;
        TAKT_RETURN_IF_ERROR(check_switch(given.limits, "limits"));
        TAKT_RETURN_IF_ERROR(check_reserved(given.reserved, "reserved"));
        const Result<std::optional<DType>> kv_dtype = read_kv_type(given.kv_type);
        if (!kv_dtype.ok()) return kv_dtype.status();
        ProfileOptions own;
        own.backend = given.backend != nullptr ? given.backend : model->backend;
        own.n_sequences = given.n_sequences;
        own.n_rows = given.n_rows;
        own.n_output_rows = given.n_output_rows;
        own.first_position = given.first_position;
        own.repetitions = given.repetitions;
        own.limits = given.limits != 0;
        own.kv_dtype = *kv_dtype;
        const Result<Profile> profile = profile_step(*model->runtime, *model->model, own);
        if (!profile.ok()) return profile.status();
        const std::string text = profile_json(*profile);
        on_profile(user_data, text.data(), text.size());
        return {};
    });
}
