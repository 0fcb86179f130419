// The compiled-in backends, best first, written out by hand.
#pragma once

#include <vector>

#include "engine/runtime.h"

namespace takt {

// Absent ones are listed with the reason.
std::vector<BackendEntry> make_backends(const BackendContext& context);

}  // namespace takt
