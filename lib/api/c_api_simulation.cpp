// The simulation of an engine.
#include <vector>

#include "api/arguments.h"
#include "api/defaults.h"
#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/struct_copy.h"
#include "api/timing.h"
#include "engine/simulated_backend.h"
#include "engine/simulation.h"
#include "takt/takt.h"

using namespace takt;
using namespace takt::api;

namespace {

Status check_array(const void* items, size_t count, std::string_view name, std::string_view count_name) {
    if (items != nullptr || count == 0) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("{} is NULL, {} is {}.", name, count_name, count));
}

Result<std::vector<StepCostPoint>> read_table(const takt_step_cost* items, size_t count,
                                              std::string_view name) {
    TAKT_RETURN_IF_ERROR(check_array(items, count, name, fmt::format("{}_count", name)));
    std::vector<StepCostPoint> table;
    for (size_t i = 0; i < count; ++i) {
        TAKT_RETURN_IF_ERROR(check_reserved(items[i].reserved, fmt::format("{}[{}].reserved", name, i)));
        table.push_back({items[i].n_rows, items[i].step_ns});
    }
    return table;
}

Result<MeasuredStepCosts> read_costs(const takt_step_costs* given) {
    const Result<takt_step_costs> read = read_struct(given, "costs", default_step_costs());
    if (!read.ok()) return read.status();
    auto decode = read_table(read->decode, read->decode_count, "decode");
    if (!decode.ok()) return decode.status();
    auto prefill = read_table(read->prefill, read->prefill_count, "prefill");
    if (!prefill.ok()) return prefill.status();
    return MeasuredStepCosts{std::move(*decode), std::move(*prefill), read->decode_position_ns,
                             read->prefill_position_ns};
}

}  // namespace

takt_status takt_model_simulate(const takt_model* model, const takt_engine_options* options,
                                const takt_step_costs* costs, const takt_simulated_request* requests,
                                size_t n_requests, takt_simulation_callback on_request, void* user_data) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        TAKT_RETURN_IF_NULL(costs);
        TAKT_RETURN_IF_NULL(on_request);
        TAKT_RETURN_IF_ERROR(check_array(requests, n_requests, "requests", "n_requests"));
        const Result<EngineOptions> own = read_engine_options(options, *model);
        if (!own.ok()) return own.status();
        const Result<EnginePlan> plan = Engine::plan(*model->runtime, *model->model, *own);
        if (!plan.ok()) return plan.status();
        Result<MeasuredStepCosts> own_costs = read_costs(costs);
        if (!own_costs.ok()) return own_costs.status();
        std::vector<SimulatedRequest> own_requests;
        own_requests.reserve(n_requests);
        for (size_t i = 0; i < n_requests; ++i)
            own_requests.push_back(
                {requests[i].arrival_ns, requests[i].prompt_tokens, requests[i].output_tokens});
        const auto tell = [&](const SimulatedEnd& end) {
            const takt_timing timing = make_timing(end.timeline, end.reason, kSimulatedBackend,
                                                   end.timeline.finished_ns.value_or(0));
            return on_request(user_data, end.index, &timing) == TAKT_CONTINUE;
        };
        return simulate(model->model, plan->options, std::move(*own_costs), own_requests, tell);
    });
}
