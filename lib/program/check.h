// Shapes, dtypes, domains, and that every value is written once before it is read.
#pragma once

#include "base/status.h"
#include "program/program.h"

namespace takt {

Status check_program(const Program& program);

}  // namespace takt
