// Quantization of model files.
#include <algorithm>

#include "api/arguments.h"
#include "api/defaults.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/progress.h"
#include "api/struct_copy.h"
#include "engine/calibration.h"
#include "quantize/quantizer.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

namespace {

constexpr uint32_t kDefaultWindow = 512;

Status check_path(const char* path, std::string_view name) {
    if (path == nullptr) return Status(StatusCode::invalid_argument, fmt::format("{} is NULL.", name));
    if (*path == '\0') return Status(StatusCode::invalid_argument, fmt::format("{} is empty.", name));
    return {};
}

Result<QuantizeOptions> read_options(const takt_quantize_options& given) {
    TAKT_RETURN_IF_ERROR(check_path(given.input_path, "input_path"));
    TAKT_RETURN_IF_ERROR(check_path(given.output_path, "output_path"));
    TAKT_RETURN_IF_ERROR(check_path(given.type, "type"));
    TAKT_RETURN_IF_ERROR(check_switch(given.requantize, "requantize"));
    TAKT_RETURN_IF_ERROR(check_switch(given.pure, "pure"));
    QuantizeOptions own;
    own.input = given.input_path;
    own.output = given.output_path;
    own.type = given.type;
    own.requantize = given.requantize != 0;
    own.pure = given.pure != 0;
    own.progress = progress_of(given.progress, given.progress_user_data);
    return own;
}

}  // namespace

takt_status takt_model_calibrate(const takt_model* model, const int32_t* ids, size_t id_count,
                                 uint32_t window_tokens, const char* path, takt_progress_callback progress,
                                 void* user_data) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        if (id_count != 0) TAKT_RETURN_IF_NULL(ids);
        TAKT_RETURN_IF_ERROR(check_path(path, "path"));
        TAKT_RETURN_IF_ERROR(check_may_load(*model->runtime, "takt_model_calibrate"));
        CalibrationOptions own;
        own.backend = model->backend;
        own.ids = {ids, id_count};
        own.window_tokens = window_tokens != 0
                                ? window_tokens
                                : std::min(kDefaultWindow, model->model->config().context_tokens);
        own.progress = progress_of(progress, user_data);
        const Result<Importance> importance = measure_importance(*model->runtime, *model->model, own);
        if (!importance.ok()) return importance.status();
        const uint64_t n_windows = (id_count + own.window_tokens - 1) / own.window_tokens;
        return importance->write(path, own.window_tokens, static_cast<uint32_t>(n_windows));
    });
}

takt_status takt_quantize(takt_runtime* runtime, const takt_quantize_options* options,
                          takt_quantize_result* out_result) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(runtime);
        if (out_result != nullptr) TAKT_RETURN_IF_ERROR(check_output(out_result, "out_result"));
        const Result<takt_quantize_options> given =
            read_struct(options, "options", default_quantize_options());
        if (!given.ok()) return given.status();
        Result<QuantizeOptions> own = read_options(*given);
        if (!own.ok()) return own.status();
        std::optional<Importance> importance;
        if (const char* path = given->importance_path; path != nullptr) {
            TAKT_RETURN_IF_ERROR(check_path(path, "importance_path"));
            Result<Importance> read = Importance::read(path);
            if (!read.ok()) return read.status();
            importance = std::move(*read);
            own->importance = &*importance;
        }
        ThreadPool pool(runtime->runtime->pool().n_threads());
        const Result<QuantizeResult> result = quantize_file(*own, pool);
        if (!result.ok()) return result.status();
        if (out_result == nullptr) return {};
        takt_quantize_result out{};
        out.input_bytes = result->input_bytes;
        out.output_bytes = result->output_bytes;
        out.n_tensors = result->n_tensors;
        out.n_quantized = result->n_quantized;
        out.n_fallbacks = result->n_fallbacks;
        write_struct(out, out_result);
        return {};
    });
}
