// Runtime, model and engine as the common flags ask for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <takt/takt.hpp>

#include "options.h"

namespace cli {

// Threads of a runtime for one value of -t; 0: the default. WrongUsage for what is none.
uint32_t parse_threads(const std::string& text);

takt::Runtime open_runtime(const CommonOptions& options);

enum class LoadWeights { yes, no };
// Shows its progress on stderr if that is a terminal and the load is slow.
takt::Model load_model(const takt::Runtime& runtime, const CommonOptions& options,
                       LoadWeights weights = LoadWeights::yes);

// The model that drafts, if one is asked for. The engine keeps it.
std::optional<takt::Model> load_draft_model(const takt::Runtime& runtime, const CommonOptions& options,
                                            const GenerationOptions& generation);

// The engine options that every command starts from.
takt::EngineOptions engine_options(const CommonOptions& options);

// takt_engine_evaluate() for as long as nobody interrupts; Failure when somebody does.
using OnLogits = std::function<bool(std::size_t position, const float* logits, std::size_t vocab_size)>;
void evaluate(takt::Engine& engine, const std::vector<int32_t>& ids, std::size_t first_position,
              uint32_t chunk_tokens, const OnLogits& on_logits);

}  // namespace cli
