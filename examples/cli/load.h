// Runtime, model and engine as the common flags ask for.
#pragma once

#include <takt/takt.hpp>

#include "options.h"

namespace cli {

takt::Runtime open_runtime(const CommonOptions& options);

enum class LoadWeights { yes, no };
// Shows its progress on stderr if that is a terminal and the load is slow.
takt::Model load_model(const takt::Runtime& runtime, const CommonOptions& options,
                       LoadWeights weights = LoadWeights::yes);

// The engine options that every command starts from.
takt::EngineOptions engine_options(const CommonOptions& options);

}  // namespace cli
