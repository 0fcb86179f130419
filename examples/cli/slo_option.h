// Presets of bounds by name, as the library has them.
#pragma once

#include <string>

#include "numbers/slo.h"

namespace cli {

// WrongUsage names those there are.
Slo slo_of_preset(const std::string& name);

}  // namespace cli
