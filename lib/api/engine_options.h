// takt_engine_options to the engine's own.
#pragma once

#include "api/arguments.h"
#include "api/defaults.h"
#include "api/handles.h"
#include "api/slo.h"
#include "api/struct_copy.h"
#include "engine/engine.h"

#include <cmath>
#include <optional>

namespace takt::api {

inline Result<std::optional<DType>> read_kv_type(uint32_t kv_type) {
    TAKT_RETURN_IF_ERROR(check_choice(kv_type, TAKT_KV_F32, "kv_type", "TAKT_KV_…"));
    switch (kv_type) {
        case TAKT_KV_F16:
            return std::optional(DType::f16);
        case TAKT_KV_Q8_0:
            return std::optional(DType::q8_0);
        case TAKT_KV_F32:
            return std::optional(DType::f32);
        default:  // TAKT_KV_DEFAULT
            return std::optional<DType>();
    }
}

inline takt_step to_c(const StepRecord& step) {
    takt_step out{};
    out.struct_size = sizeof out;
    out.index = step.index;
    out.begin_ns = step.begin_ns;
    out.end_ns = step.end_ns;
    out.gap_ns = step.gap_ns;
    out.decode_rows = step.decode_rows;
    out.prefill_rows = step.prefill_rows;
    out.prefill_budget = step.prefill_budget;
    out.generated_tokens = step.generated_tokens;
    out.n_running = step.n_running;
    out.n_waiting = step.n_waiting;
    return out;
}

inline takt_slo_miss to_c(const SloMiss& miss) {
    takt_slo_miss out{};
    out.struct_size = sizeof out;
    out.request_id = miss.request;
    out.at_ns = miss.at_ns;
    out.bound_ns = miss.bound_ns;
    out.value_ns = miss.value_ns;
    out.token_index = miss.token_index;
    out.bound = bit(miss.bound);
    return out;
}

constexpr uint32_t kMostTraceSteps = 1u << 20;

inline Status check_positive(double value, std::string_view name) {
    if (std::isfinite(value) && value >= 0) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("{} is {}, must be 0 or a positive number.", name, value));
}

inline Status read_smooth_rule(const takt_engine_options& options, SmoothRule& rule) {
    TAKT_RETURN_IF_ERROR(check_positive(options.smooth_seconds_per_token, "smooth_seconds_per_token"));
    TAKT_RETURN_IF_ERROR(check_positive(options.smooth_alpha, "smooth_alpha"));
    TAKT_RETURN_IF_ERROR(
        check_choice(options.smooth_origin, TAKT_ORIGIN_FIRST_TOKEN, "smooth_origin", "TAKT_ORIGIN_…"));
    if (options.smooth_seconds_per_token > 0) rule.seconds_per_token = options.smooth_seconds_per_token;
    if (options.smooth_alpha > 0) rule.alpha = options.smooth_alpha;
    rule.from_first_token = options.smooth_origin == TAKT_ORIGIN_FIRST_TOKEN;
    return {};
}

// given NULL: defaults. The model's backend stands in where none is named.
inline Result<EngineOptions> read_engine_options(const takt_engine_options* given, const takt_model& model) {
    const Result<takt_engine_options> read = read_optional_struct(given, "options", default_engine_options());
    if (!read.ok()) return read.status();
    const takt_engine_options& options = *read;
    TAKT_RETURN_IF_ERROR(check_switch(options.deterministic, "deterministic"));
    TAKT_RETURN_IF_ERROR(check_switch(options.no_prefix_reuse, "no_prefix_reuse"));
    TAKT_RETURN_IF_ERROR(check_switch(options.step_driven, "step_driven"));
    TAKT_RETURN_IF_ERROR(check_reserved(options.reserved, "reserved"));
    const Result<std::optional<DType>> kv_dtype = read_kv_type(options.kv_type);
    if (!kv_dtype.ok()) return kv_dtype.status();
    EngineOptions own;
    own.backend = options.backend != nullptr ? options.backend : model.backend;
    own.context_tokens = options.context_tokens;
    own.max_sequences = options.max_sequences;
    own.max_waiting = options.max_waiting;
    own.chunk_tokens = options.chunk_tokens;
    own.kv_tokens = options.kv_tokens;
    own.deterministic = options.deterministic != 0;
    own.kv_dtype = *kv_dtype;
    own.step_gap_ns = options.step_gap_ns;
    own.prefix_reuse = options.no_prefix_reuse == 0;
    own.step_driven = options.step_driven != 0;
    if (options.draft_model != nullptr) {
        if (options.draft_model->runtime != model.runtime)
            return Status(StatusCode::invalid_argument, "draft_model is of another runtime than the model.");
        own.draft_model = options.draft_model->model;
    }
    own.page_tokens = options.page_tokens;
    own.memory_limit_bytes = options.memory_limit_bytes;
    if (options.on_step != nullptr) {
        own.on_step = [call = options.on_step, user_data = options.step_user_data](const StepRecord& step) {
            const takt_step out = to_c(step);
            call(user_data, &out);
        };
    }
    const Result<std::optional<Slo>> slo = read_slo(options.slo);
    if (!slo.ok()) return slo.status();
    own.slo = slo->value_or(Slo{});
    if (options.name != nullptr) own.name = options.name;
    if (options.on_slo_miss != nullptr) {
        own.on_slo_miss = [call = options.on_slo_miss,
                           user_data = options.slo_user_data](const SloMiss& miss) {
            const takt_slo_miss out = to_c(miss);
            call(user_data, &out);
        };
    }
    TAKT_RETURN_IF_ERROR(read_smooth_rule(options, own.smooth));
    if (options.trace_steps > kMostTraceSteps) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("trace_steps is {}, at most {} are remembered.", options.trace_steps,
                                  kMostTraceSteps));
    }
    own.trace_steps = options.trace_steps;
    own.packed_cache_dir = model.packed_cache_dir;
    return own;
}

}  // namespace takt::api
