// Engine options with every 0 filled in and every limit checked, and what they mean for a backend.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/backend.h"
#include "engine/engine.h"
#include "model/model.h"

namespace takt {

// invalid_argument that names field, value and range.
Status check_range(std::string_view field, uint64_t value, uint64_t lowest, uint64_t highest);

Result<EngineOptions> resolve_options(EngineOptions options, const Model& model);

// What the draft model of resolved options is compiled with.
EngineOptions options_of_draft(EngineOptions options);

// options: resolved. Rows of a step: max_rows of the result; pages: n_pages.
CompileOptions make_compile_options(const EngineOptions& options, const Program& program);

}  // namespace takt
