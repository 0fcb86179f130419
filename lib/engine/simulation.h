// An engine in simulated time: its own queue, scheduler and pages, over steps that only take what was
// measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/request.h"
#include "engine/step_cost_model.h"
#include "model/model.h"
#include "timing/timeline.h"

namespace takt {

struct SimulatedRequest {
    uint64_t arrival_ns = 0;
    uint32_t prompt_tokens = 0, output_tokens = 0;  // at least 1 of each
};

struct SimulatedEnd {
    size_t index = 0;  // of the request
    Timeline timeline;
    // error: it found the queue full, and was never scheduled.
    FinishReason reason = FinishReason::none;
};

// Runs the requests, given in the order of their arrival, through an engine of these options, whose backend,
// callbacks' thread and step_driven don't matter. Prompts share nothing. on_end: once for each request in the
// order in which they end, on this thread; false ends the simulation with `cancelled`. Needs no weights.
Status simulate(std::shared_ptr<const Model> model, const EngineOptions& options, MeasuredStepCosts costs,
                std::span<const SimulatedRequest> requests,
                const std::function<bool(const SimulatedEnd&)>& on_end);

}  // namespace takt
