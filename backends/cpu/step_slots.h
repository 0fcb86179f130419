// Which values of a plan share a buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/step_plan.h"

namespace takt::cpu {

// home: by value, the value whose buffer it lives in. Fills the slots of a plan whose steps are complete.
void assign_slots(const Program& program, const std::vector<uint32_t>& home, StepPlan& plan);

}  // namespace takt::cpu
