// takt_engine_options to the engine's own.
#pragma once

#include "api/arguments.h"
#include "api/defaults.h"
#include "api/handles.h"
#include "api/struct_copy.h"
#include "engine/engine.h"

namespace takt::api {

// given NULL: defaults. The model's backend stands in where none is named.
inline Result<EngineOptions> read_engine_options(const takt_engine_options* given, const takt_model& model) {
    takt_engine_options options = default_engine_options();
    if (given != nullptr) {
        const Result<takt_engine_options> read = read_struct(given, "options", options);
        if (!read.ok()) return read.status();
        options = *read;
    }
    TAKT_RETURN_IF_ERROR(check_switch(options.deterministic, "deterministic"));
    TAKT_RETURN_IF_ERROR(check_reserved(options.reserved, "reserved"));
    EngineOptions own;
    own.backend = options.backend != nullptr ? options.backend : model.backend;
    own.context_tokens = options.context_tokens;
    own.max_sequences = options.max_sequences;
    own.max_waiting = options.max_waiting;
    own.chunk_tokens = options.chunk_tokens;
    own.kv_tokens = options.kv_tokens;
    own.deterministic = options.deterministic != 0;
    return own;
}

}  // namespace takt::api
