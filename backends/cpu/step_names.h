// Steps in words, for reports of where a step's time goes.
#pragma once

#include "backend/backend.h"
#include "cpu/step_plan.h"

namespace takt::cpu {

// Name and products; equal for the same step of every layer.
PartTime describe_step(const Program& program, const Step& step, uint32_t n_token_rows,
                       uint32_t n_output_rows);

}  // namespace takt::cpu
