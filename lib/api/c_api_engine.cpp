// Engines: create, run to the end, submit, evaluate.
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/request_options.h"
#include "api/struct_copy.h"
#include "api/timing.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

namespace {

// Waiting on the thread that has to go on would never end.
Status refuse_inside_callback(const Engine& engine, std::string_view call) {
    if (!engine.inside_callback()) return {};
    return Status(StatusCode::invalid_state,
                  fmt::format("{} can't be called inside a callback of the same engine.", call));
}

}  // namespace

takt_status takt_engine_create(takt_model* model, const takt_engine_options* options,
                               takt_engine** out_engine) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_engine);
        *out_engine = nullptr;
        TAKT_RETURN_IF_NULL(model);
        const Result<EngineOptions> own = read_engine_options(options, *model);
        if (!own.ok()) return own.status();
        auto handle = std::make_unique<takt_engine>();
        handle->runtime = model->runtime;
        handle->model = model->model;
        handle->packed = model->packed;
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
        if (const std::shared_ptr<Engine> inner = engine->calls->engine()) {
            TAKT_RETURN_IF_ERROR(refuse_inside_callback(*inner, "takt_engine_destroy"));
        }
        engine->calls->close();
        delete engine;
        return {};
    });
}

uint32_t takt_engine_context_tokens(const takt_engine* engine) {
    if (engine == nullptr) return 0;
    return guard_value<uint32_t>(0, [&] { return engine->calls->engine()->context_tokens(); });
}

takt_status takt_engine_generate(takt_engine* engine, const takt_request_options* options,
                                 takt_timing* out_timing) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(engine);
        const uint64_t submitted_ns = engine->runtime->clock().now_ns();
        if (out_timing != nullptr) TAKT_RETURN_IF_ERROR(check_output(out_timing, "out_timing"));
        const std::shared_ptr<EngineCalls> calls = engine->calls;
        const EngineCalls::Blocking blocking(*calls);
        const std::shared_ptr<Engine> inner = calls->engine();
        TAKT_RETURN_IF_ERROR(refuse_inside_callback(*inner, "takt_engine_generate"));
        Result<RequestOptions> own = read_request_options(options, *engine->model);
        if (!own.ok()) return own.status();
        own->submitted_ns = submitted_ns;
        stop_when_closing(*own, calls);
        const Result<std::unique_ptr<Request>> request = inner->generate(std::move(*own));
        if (!request.ok()) return request.status();
        if (out_timing != nullptr) write_struct(make_timing(**request, inner->runtime()), out_timing);
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
        Result<RequestOptions> own = read_request_options(options, *engine->model);
        if (!own.ok()) return own.status();
        own->submitted_ns = submitted_ns;
        // The handle is there before the first callback can look for it.
        auto handle = std::make_unique<takt_request>();
        const std::shared_ptr<RequestEnd> end = std::make_shared<RequestEnd>(engine->runtime);
        handle->calls = calls;
        handle->end = end;
        *out_request = handle.get();
        Result<std::unique_ptr<Request>> request = calls->engine()->submit(std::move(*own));
        if (!request.ok()) {
            *out_request = nullptr;
            return request.status();
        }
        handle.release();
        std::shared_ptr<Request> shared = std::move(*request);
        calls->add(shared.get());
        end->set(std::move(shared));
        return {};
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
        const EngineCalls::Blocking blocking(*calls);
        const std::shared_ptr<Engine> inner = calls->engine();
        TAKT_RETURN_IF_ERROR(refuse_inside_callback(*inner, "takt_engine_evaluate"));
        const auto give = [&](size_t position, std::span<const float> logits) {
            const bool go_on = guard_value(false, [&] {
                return on_logits(user_data, position, logits.data(), logits.size()) == TAKT_CONTINUE;
            });
            return go_on && !calls->closing();
        };
        return inner->evaluate({ids, ids_count}, first_position, chunk_tokens, give);
    });
}
