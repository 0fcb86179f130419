// Models: load, describe, tokenize, render.
#include <bit>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "api/arguments.h"
#include "api/copy_out.h"
#include "api/defaults.h"
#include "api/engine_options.h"
#include "api/guard.h"
#include "api/handles.h"
#include "api/progress.h"
#include "api/inspect.h"
#include "api/struct_copy.h"
#include "base/file.h"
#include "engine/chat_prompt.h"
#include "program/printer.h"
#include "takt/takt.h"
#include "tokenizer/detokenizer.h"

using namespace takt;
using namespace takt::api;

namespace {

std::string_view view(const char* text, size_t text_bytes) {
    return text == nullptr ? std::string_view() : std::string_view(text, text_bytes);
}

Result<std::shared_ptr<const ByteSource>> open_source(const takt_model_options& options) {
    const int n_sources =
        int{options.path != nullptr} + int{options.memory != nullptr} + int{options.descriptor >= 0};
    if (n_sources != 1) {
        return Status(
            StatusCode::invalid_argument,
            fmt::format("A model has one source: path, memory or descriptor; {} are given.", n_sources));
    }
    if (options.descriptor < -1) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("descriptor is {}, -1 stands for none.", options.descriptor));
    }
    if (options.descriptor == -1 && (options.descriptor_offset != 0 || options.descriptor_length != 0)) {
        return Status(StatusCode::invalid_argument,
                      "descriptor_offset and descriptor_length need a descriptor.");
    }
    if (options.path != nullptr) {
        if (*options.path == '\0') return Status(StatusCode::invalid_argument, "path is empty.");
        return open_file(options.path);
    }
    if (options.memory != nullptr) {
        return borrow_memory({static_cast<const std::byte*>(options.memory), options.memory_bytes});
    }
    return open_descriptor(options.descriptor, options.descriptor_offset, options.descriptor_length);
}

// The packed weights stay with the handle; engines find them in the runtime's store.
Status load_weights(takt_model& handle, const LoadProgress& progress) {
    Result<Backend*> backend = handle.runtime->find_backend(handle.backend);
    if (!backend.ok()) return backend.status();
    TAKT_RETURN_IF_ERROR((*backend)->supports(*handle.model->program()));
    handle.backend = (*backend)->name();
    std::lock_guard lock(handle.runtime->pool_mutex());
    Result<std::shared_ptr<const PackedWeights>> packed =
        (*backend)->load_weights(*handle.model->program(), *handle.model, handle.runtime->weight_store(),
                                 {progress, handle.packed_cache_dir});
    if (!packed.ok()) return packed.status();
    handle.packed = std::move(*packed);
    return {};
}

uint64_t packed_bytes(const takt_model& model) {
    return model.packed ? model.packed->size_bytes() : 0;
}

Status copy_text(std::string_view text, char* out_text, size_t capacity, size_t* out_bytes) {
    return copy_out(std::span<const char>(text.data(), text.size()), out_text, capacity, out_bytes,
                    "out_text");
}

}  // namespace

takt_status takt_model_load(takt_runtime* runtime, const takt_model_options* options,
                            takt_model** out_model) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(out_model);
        *out_model = nullptr;
        TAKT_RETURN_IF_NULL(runtime);
        TAKT_RETURN_IF_ERROR(check_may_load(*runtime->runtime, "takt_model_load"));
        const Result<takt_model_options> given = read_struct(options, "options", default_model_options());
        if (!given.ok()) return given.status();
        TAKT_RETURN_IF_ERROR(check_switch(given->metadata_only, "metadata_only"));
        auto handle = std::make_unique<takt_model>();
        handle->runtime = runtime->runtime;
        if (given->backend != nullptr) handle->backend = given->backend;
        if (given->packed_cache_dir != nullptr) handle->packed_cache_dir = given->packed_cache_dir;
        if (Result<Backend*> backend = handle->runtime->find_backend(handle->backend); !backend.ok())
            return backend.status();
        Result<std::shared_ptr<const ByteSource>> source = open_source(*given);
        if (!source.ok()) return source.status();
        Result<std::shared_ptr<const Model>> model =
            Model::load(std::move(*source), handle->runtime->logger());
        if (!model.ok()) return model.status();
        handle->model = std::move(*model);
        if (given->metadata_only == 0)
            TAKT_RETURN_IF_ERROR(
                load_weights(*handle, progress_of(given->progress, given->progress_user_data)));
        *out_model = handle.release();
        return {};
    });
}

void takt_model_destroy(takt_model* model) {
    guard_void([&] { delete model; });
}

takt_status takt_model_get_info(const takt_model* model, takt_model_info* out_info) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        TAKT_RETURN_IF_ERROR(check_output(out_info, "out_info"));
        const ModelConfig& config = model->model->config();
        takt_model_info info{};
        info.family = config.family.c_str();
        info.name = config.model_name.c_str();
        info.fingerprint = model->model->fingerprint();
        info.weight_bytes = model->model->weight_bytes();
        info.packed_bytes = packed_bytes(*model);
        info.parameter_count = parameter_count(*model->model);
        info.vocab_size = config.vocab_size;
        info.context_tokens = config.context_tokens;
        info.n_layers = config.n_layers;
        info.embedding_dim = config.embedding_dim;
        info.bos_id = model->model->tokenizer()->bos_id();
        info.eos_id = model->model->tokenizer()->eos_id();
        info.has_chat_template = model->model->chat_template().ok() ? 1 : 0;
        write_struct(info, out_info);
        return {};
    });
}

takt_status takt_model_inspect(const takt_model* model, char* out_text, size_t capacity, size_t* out_bytes) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        TAKT_RETURN_IF_ERROR(check_buffer(out_text, capacity, out_bytes, "out_text", "out_bytes"));
        const Result<Backend*> backend = model->runtime->find_backend(model->backend);
        return copy_text(inspect_json(*model->model, backend.ok() ? *backend : nullptr, packed_bytes(*model)),
                         out_text, capacity, out_bytes);
    });
}

takt_status takt_model_program(const takt_model* model, char* out_text, size_t capacity, size_t* out_bytes) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        TAKT_RETURN_IF_ERROR(check_buffer(out_text, capacity, out_bytes, "out_text", "out_bytes"));
        return copy_text(print_program(*model->model->program()), out_text, capacity, out_bytes);
    });
}

takt_status takt_model_plan(const takt_model* model, const takt_engine_options* options,
                            takt_memory_plan* out_plan) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        TAKT_RETURN_IF_ERROR(check_output(out_plan, "out_plan"));
        const Result<EngineOptions> own = read_engine_options(options, *model);
        if (!own.ok()) return own.status();
        const Result<EnginePlan> plan = Engine::plan(*model->runtime, *model->model, *own);
        if (!plan.ok()) return plan.status();
        takt_memory_plan out{};
        out.weight_bytes = plan->memory.weight_bytes;
        out.kv_bytes = plan->memory.state_bytes;
        out.scratch_bytes = plan->memory.scratch_bytes;
        out.total_bytes = plan->memory.total_bytes();
        out.kv_tokens = plan->options.kv_tokens;
        out.context_tokens = plan->options.context_tokens;
        out.max_sequences = plan->options.max_sequences;
        out.chunk_tokens = plan->options.chunk_tokens;
        out.page_tokens = plan->options.page_tokens;
        write_struct(out, out_plan);
        return {};
    });
}

takt_status takt_model_tokenize(const takt_model* model, const char* text, size_t text_bytes, uint32_t flags,
                                int32_t* out_ids, size_t capacity, size_t* out_count) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        TAKT_RETURN_IF_ERROR(check_text(text, text_bytes, "text"));
        TAKT_RETURN_IF_ERROR(check_flags(flags, TAKT_ADD_SPECIAL | TAKT_PARSE_SPECIAL, "flags"));
        TAKT_RETURN_IF_ERROR(check_buffer(out_ids, capacity, out_count, "out_ids", "out_count"));
        const EncodeOptions options{(flags & TAKT_ADD_SPECIAL) != 0, (flags & TAKT_PARSE_SPECIAL) != 0};
        const Result<std::vector<int32_t>> ids =
            model->model->tokenizer()->encode(view(text, text_bytes), options);
        if (!ids.ok()) return ids.status();
        return copy_out(std::span<const int32_t>(*ids), out_ids, capacity, out_count, "out_ids");
    });
}

takt_status takt_model_detokenize(const takt_model* model, const int32_t* ids, size_t ids_count,
                                  uint32_t keep_special, char* out_text, size_t capacity, size_t* out_bytes) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        if (ids_count > 0) TAKT_RETURN_IF_NULL(ids);
        TAKT_RETURN_IF_ERROR(check_switch(keep_special, "keep_special"));
        TAKT_RETURN_IF_ERROR(check_buffer(out_text, capacity, out_bytes, "out_text", "out_bytes"));
        const uint32_t vocab_size = model->model->tokenizer()->vocab_size();
        Detokenizer detokenizer(model->model->tokenizer(), keep_special != 0, false);
        std::string text;
        for (size_t i = 0; i < ids_count; ++i) {
            if (ids[i] < 0 || static_cast<uint32_t>(ids[i]) >= vocab_size) {
                return Status(
                    StatusCode::invalid_argument,
                    fmt::format("ids[{}] is {}, the vocabulary has {} tokens.", i, ids[i], vocab_size));
            }
            text += detokenizer.append(ids[i], false);
        }
        text += detokenizer.flush(false);
        return copy_text(text, out_text, capacity, out_bytes);
    });
}

takt_status takt_model_render_chat(const takt_model* model, const char* json, size_t json_bytes,
                                   uint32_t add_generation_prompt, char* out_text, size_t capacity,
                                   size_t* out_bytes) {
    return guard([&]() -> Status {
        TAKT_RETURN_IF_NULL(model);
        TAKT_RETURN_IF_NULL(json);
        TAKT_RETURN_IF_ERROR(check_text(json, json_bytes, "json"));
        TAKT_RETURN_IF_ERROR(check_switch(add_generation_prompt, "add_generation_prompt"));
        TAKT_RETURN_IF_ERROR(check_buffer(out_text, capacity, out_bytes, "out_text", "out_bytes"));
        const Result<std::string> text =
            render_chat(*model->model, view(json, json_bytes), add_generation_prompt != 0);
        if (!text.ok()) return text.status();
        return copy_text(*text, out_text, capacity, out_bytes);
    });
}
