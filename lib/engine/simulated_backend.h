// A device without arithmetic or memory: a step moves a clock by what it would take, and every token is 0.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "base/clock.h"
#include "engine/step_cost_model.h"

namespace takt {

constexpr std::string_view kSimulatedBackend = "simulated";

std::unique_ptr<Backend> make_simulated_backend(StepCostModel costs, std::shared_ptr<ManualClock> clock);

}  // namespace takt
