// A program as text, one op a line: for people, tests and comparisons.
#pragma once

#include <string>

#include "program/program.h"

namespace takt {

std::string print_program(const Program& program);

}  // namespace takt
