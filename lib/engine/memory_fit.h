// What an engine takes for its options; with a limit, which of the options that the caller left open give
// way.
#pragma once

#include "backend/backend.h"
#include "engine/engine.h"
#include "model/model.h"

namespace takt {

// asked: as the caller gave them. Without a limit every 0 is the default of resolve_options(). Where that
// takes more than memory_limit_bytes, values that were 0 are lowered, one after the other, each only as far
// as it must:
//   kv_tokens       to context_tokens
//   context_tokens  to 2048 (kv_tokens, if it was 0, with it)
//   chunk_tokens    to 128
//   max_sequences   to 4
// and then, once more in the same order, to 256, 16 and 1. A value whose lowering saves nothing stays.
// out_of_memory with need and have where that doesn't do.
Result<EnginePlan> plan_engine(const EngineOptions& asked, const Model& model, const Backend& backend);

// What a draft model takes beside the model: a model that drafts for itself has its weights once.
MemoryPlan beside_model(MemoryPlan draft, bool is_model_itself);

}  // namespace takt
