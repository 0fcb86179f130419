// What every backend asks of compile options and of a step batch before it touches state.
#pragma once

#include "backend/backend.h"
#include "backend/step_batch.h"
#include "base/status.h"
#include "program/program.h"

namespace takt {

// Page counts per group, and numbers that no size computation can overflow on.
Status check_compile_options(const Program& program, const CompileOptions& options);

// Rows, tokens, positions and block tables within what the executable was compiled for. Allocates only for an
// error.
Status check_step_batch(const Program& program, const CompileOptions& options, const StepBatch& batch);

// First position a row at `position` attends to in a group with this window (0: none).
constexpr uint32_t first_visible_position(uint32_t position, uint32_t window) {
    return window != 0 && position >= window ? position - window + 1 : 0;
}

}  // namespace takt
