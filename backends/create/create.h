// How the engine's hand-written backend list makes each backend. An error says why the backend isn't there.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace takt {

Result<std::unique_ptr<Backend>> create_reference_backend(const BackendContext& context);
Result<std::unique_ptr<Backend>> create_cpu_backend(const BackendContext& context);

}  // namespace takt
