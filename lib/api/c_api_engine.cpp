// Engines: create, run to the end, submit, evaluate.
#include <memory>
#include <span>
#include <utility>

#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/new_request.h"
#include "api/request_options.h"
#include "api/struct_copy.h"
#include "api/timing.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

namespace {

takt_engine_statistics to_c(const EngineStatistics& from) {
    takt_engine_statistics out{};
    out.pages_in_use = from.pages_in_use;
    out.pages_cached = from.pages_cached;
    out.pages_total = from.pages_total;
    out.page_waste = from.page_waste;
    out.n_steps = from.n_steps;
    out.n_preemptions = from.n_preemptions;
    out.prompt_tokens_computed = from.prompt_tokens_computed;
    out.prompt_tokens_cached = from.prompt_tokens_cached;
    out.generated_tokens = from.generated_tokens;
    out.drafted_tokens = from.drafted_tokens;
    out.accepted_tokens = from.accepted_tokens;
    out.page_tokens = static_cast<uint32_t>(from.page_tokens);
    out.max_sequences = static_cast<uint32_t>(from.max_sequences);
    out.n_running = static_cast<uint32_t>(from.n_running);
    out.n_waiting = static_cast<uint32_t>(from.n_waiting);
    return out;
}

}  // namespace

takt_status takt_engine_create(takt_model* model, const takt_engine_options* options,
                               takt_engine** out_engine) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_engine);
        *out_engine = nullptr;
        TAKT_RETURN_IF_NULL(model);
        TAKT_RETURN_IF_ERROR(check_may_load(*model->runtime, "takt_engine_create"));
        const Result<EngineOptions> own = read_engine_options(options, *model);
        if (!own.ok()) return own.status();
        auto handle = std::make_unique<takt_engine>();
        handle->runtime = model->runtime;
        handle->model = model->model;
        handle->packed = model->packed;
        if (options != nullptr && own->draft_model) handle->draft_packed = options->draft_model->packed;
        Result<std::shared_ptr<Engine>> engine = Engine::create(model->runtime, model->model, *own);
        if (!engine.ok()) return engine.status();
        handle->calls = std::make_shared<EngineCalls>(std::move(*engine));
        *out_engine = handle.release();
        return {};
    });
}

takt_status takt_engine_destroy(takt_engine* engine) {
    return guard([&]() -> Status {
        if (engine == nullptr) return {};
        TAKT_RETURN_IF_ERROR(engine->calls->refuse_inside_callback("takt_engine_destroy"));
        engine->calls->close();
        delete engine;
        return {};
    });
}

takt_status takt_engine_cancel_all(takt_engine* engine) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(engine);
        const EngineCalls::Call call(*engine->calls);
        if (call.status().ok()) call.engine()->cancel_all();
        return {};
    });
}

takt_status takt_engine_step(takt_engine* engine, uint32_t* out_has_work) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(engine);
        if (out_has_work != nullptr) *out_has_work = 0;
        const std::shared_ptr<EngineCalls> calls = engine->calls;
        TAKT_RETURN_IF_ERROR(calls->refuse_inside_callback("takt_engine_step"));
        const EngineCalls::Call call(*calls);
        TAKT_RETURN_IF_ERROR(call.status());
        const Result<bool> has_work = call.engine()->step();
        if (!has_work.ok()) return has_work.status();
        if (out_has_work != nullptr) *out_has_work = *has_work ? 1 : 0;
        return {};
    });
}

uint32_t takt_engine_context_tokens(const takt_engine* engine) {
    return engine == nullptr ? 0 : engine->calls->context_tokens();
}

takt_status takt_engine_get_statistics(const takt_engine* engine, takt_engine_statistics* out_statistics) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(engine);
        TAKT_RETURN_IF_ERROR(check_output(out_statistics, "out_statistics"));
        const EngineCalls::Call call(*engine->calls);
        TAKT_RETURN_IF_ERROR(call.status());
        TAKT_RETURN_IF_ERROR(call.engine()->refuse_in_forked_child());
        write_struct(to_c(call.engine()->statistics()), out_statistics);
        return {};
    });
}

takt_status takt_engine_trace(const takt_engine* engine, takt_text_callback on_trace, void* user_data) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(engine);
        TAKT_RETURN_IF_NULL(on_trace);
        std::string trace;
        {  // over before the callback, which may destroy the engine
            const EngineCalls::Call call(*engine->calls);
            TAKT_RETURN_IF_ERROR(call.status());
            TAKT_RETURN_IF_ERROR(call.engine()->refuse_in_forked_child());
            trace = call.engine()->trace_json();
        }
        on_trace(user_data, trace.data(), trace.size());
        return {};
    });
}

takt_status takt_engine_generate(takt_engine* engine, const takt_request_options* options,
                                 takt_timing* out_timing) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(engine);
        const std::shared_ptr<Runtime> runtime = engine->runtime;
        const uint64_t submitted_ns = runtime->clock().now_ns();
        if (out_timing != nullptr) TAKT_RETURN_IF_ERROR(check_output(out_timing, "out_timing"));
        const std::shared_ptr<EngineCalls> calls = engine->calls;
        TAKT_RETURN_IF_ERROR(calls->refuse_inside_callback("takt_engine_generate"));
        const EngineCalls::Call call(*calls);
        TAKT_RETURN_IF_ERROR(call.status());
        Result<RequestOptions> own = read_request_options(options, *engine->model);
        if (!own.ok()) return own.status();
        own->submitted_ns = submitted_ns;
        const Result<std::unique_ptr<Request>> request = call.engine()->generate(std::move(*own));
        if (!request.ok()) return request.status();
        if (out_timing != nullptr) write_struct(make_timing(**request, *runtime), out_timing);
        return (*request)->status();
    });
}

takt_status takt_engine_submit(takt_engine* engine, const takt_request_options* options,
                               takt_request** out_request) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_request);
        *out_request = nullptr;
        TAKT_RETURN_IF_NULL(engine);
        const uint64_t submitted_ns = engine->runtime->clock().now_ns();  // tokenizing counts
        const std::shared_ptr<EngineCalls> calls = engine->calls;
        const EngineCalls::Call call(*calls);
        TAKT_RETURN_IF_ERROR(call.status());
        Result<RequestOptions> own = read_request_options(options, *engine->model);
        if (!own.ok()) return own.status();
        own->submitted_ns = submitted_ns;
        return new_request(engine->runtime, calls, out_request,
                           [&] { return call.engine()->submit(std::move(*own)); });
    });
}

takt_status takt_engine_evaluate(takt_engine* engine, const int32_t* ids, size_t ids_count,
                                 size_t first_position, uint32_t chunk_tokens, takt_logits_callback on_logits,
                                 void* user_data) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(engine);
        TAKT_RETURN_IF_NULL(ids);
        TAKT_RETURN_IF_NULL(on_logits);
        const std::shared_ptr<EngineCalls> calls = engine->calls;
        TAKT_RETURN_IF_ERROR(calls->refuse_inside_callback("takt_engine_evaluate"));
        const EngineCalls::Call call(*calls);
        TAKT_RETURN_IF_ERROR(call.status());
        const auto give = [&](size_t position, std::span<const float> logits) {
            return on_logits(user_data, position, logits.data(), logits.size()) == TAKT_CONTINUE;
        };
        return call.engine()->evaluate({ids, ids_count}, first_position, chunk_tokens, give);
    });
}
