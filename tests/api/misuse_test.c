/* NULL for every pointer, wrong struct sizes, values without a meaning: each call refuses and names what it
 * was given. argv[1]: a small model. */
#include <math.h>
#include <stdlib.h>

#include "c_check.h"

#define INVALID TAKT_ERROR_INVALID_ARGUMENT

static int32_t on_logits(void* user_data, size_t position, const float* logits, size_t vocab_size) {
    (void)user_data, (void)position, (void)logits, (void)vocab_size;
    return TAKT_CONTINUE;
}

static void null_is_fine_for_destroy(void) {
    takt_runtime_destroy(NULL);
    takt_model_destroy(NULL);
    CHECK_OK(takt_engine_destroy(NULL));
    takt_request_destroy(NULL);
    takt_session_destroy(NULL);
    takt_snapshot_destroy(NULL);
    CHECK(takt_request_id(NULL) == 0);
    CHECK(takt_runtime_now_ns(NULL) == 0 && takt_runtime_thread_count(NULL) == 0 &&
          takt_backend_count(NULL) == 0);
    CHECK(takt_engine_context_tokens(NULL) == 0);
    CHECK_FAILS(INVALID, "engine", takt_engine_cancel_all(NULL));
    CHECK_FAILS(INVALID, "engine", takt_engine_step(NULL, NULL));
    CHECK_FAILS(INVALID, "runtime", takt_runtime_set_threads(NULL, 1, 1));
}

static void init(void) {
    takt_request_options options;
    unsigned char bytes[sizeof(takt_request_options) + 64];
    CHECK_FAILS(INVALID, "options", takt_runtime_options_init(NULL, sizeof(takt_runtime_options)));
    CHECK_FAILS(INVALID, "options", takt_model_options_init(NULL, sizeof(takt_model_options)));
    CHECK_FAILS(INVALID, "options", takt_engine_options_init(NULL, sizeof(takt_engine_options)));
    CHECK_FAILS(INVALID, "options", takt_request_options_init(NULL, sizeof(takt_request_options)));
    CHECK_FAILS(INVALID, "struct_size is 0", takt_request_options_init(&options, 0));
    /* The first release's struct ended before keep_state. */
    CHECK_FAILS(INVALID, "struct_size is 183", takt_request_options_init(&options, 183));
    memset(bytes, 0xA5, sizeof bytes);
    CHECK_OK(takt_request_options_init((takt_request_options*)(void*)bytes, 184));
    CHECK(bytes[183] == 0 && bytes[184] == 0xA5);
    /* A newer program's struct is longer: what this library doesn't know is left alone. */
    memset(bytes, 0xA5, sizeof bytes);
    CHECK_OK(takt_request_options_init((takt_request_options*)(void*)bytes, sizeof bytes));
    memcpy(&options, bytes, sizeof options);
    CHECK(options.struct_size == sizeof bytes && options.max_tokens == 256 && bytes[sizeof options] == 0xA5);
}

static void runtime_calls(takt_runtime* runtime) {
    takt_runtime_options options = TAKT_RUNTIME_OPTIONS_INIT;
    takt_backend_info info = {0};
    takt_runtime* other = NULL;
    CHECK_FAILS(INVALID, "out_runtime", takt_runtime_create(NULL, NULL));
    options.struct_size = 8;
    CHECK_FAILS(INVALID, "struct_size is 8", takt_runtime_create(&options, &other));
    options.struct_size = sizeof options;
    options.log_level = 4;
    CHECK_FAILS(INVALID, "log_level is 4", takt_runtime_create(&options, &other));
    options.log_level = TAKT_LOG_INFO;
    options.n_threads = 10000;
    CHECK_FAILS(INVALID, "n_threads is 10000", takt_runtime_create(&options, &other));
    options.n_threads = 1;
    options.isa_cap = "abacus";
    CHECK_FAILS(TAKT_ERROR_NOT_FOUND, "abacus", takt_runtime_create(&options, &other));
    CHECK(other == NULL);
    CHECK_FAILS(INVALID, "out_info", takt_backend_get(runtime, 0, NULL));
    CHECK_FAILS(INVALID, "struct_size is 0", takt_backend_get(runtime, 0, &info));
    info.struct_size = sizeof info;
    CHECK_FAILS(INVALID, "runtime", takt_backend_get(NULL, 0, &info));
    CHECK_FAILS(INVALID, "index is 99", takt_backend_get(runtime, 99, &info));
}

static int32_t stop_at_once(void* user_data, uint64_t done_bytes, uint64_t total_bytes) {
    (void)user_data, (void)done_bytes, (void)total_bytes;
    return TAKT_STOP;
}

static void quantize_calls(takt_runtime* runtime, const char* path) {
    takt_quantize_options options = TAKT_QUANTIZE_OPTIONS_INIT;
    takt_quantize_result result = {0};
    options.input_path = path;
    options.output_path = "/no/such/folder/out.gguf";
    options.type = "q8_0";
    CHECK_FAILS(INVALID, "runtime", takt_quantize(NULL, &options, NULL));
    CHECK_FAILS(INVALID, "options", takt_quantize(runtime, NULL, NULL));
    CHECK_FAILS(INVALID, "struct_size is 0", takt_quantize(runtime, &options, &result));
    CHECK_FAILS(TAKT_ERROR_FILE_NOT_FOUND, "/no/such/folder", takt_quantize(runtime, &options, NULL));
    options.requantize = 2;
    CHECK_FAILS(INVALID, "requantize is 2", takt_quantize(runtime, &options, NULL));
    options.requantize = 0;
    options.pure = 7;
    CHECK_FAILS(INVALID, "pure is 7", takt_quantize(runtime, &options, NULL));
    options.pure = 0;
    options.type = NULL;
    CHECK_FAILS(INVALID, "type is NULL", takt_quantize(runtime, &options, NULL));
    options.type = "q77";
    CHECK_FAILS(INVALID, "q77", takt_quantize(runtime, &options, NULL));
    options.type = "q8_0";
    options.output_path = path;
    CHECK_FAILS(INVALID, "same file", takt_quantize(runtime, &options, NULL));
    options.output_path = "";
    CHECK_FAILS(INVALID, "output_path is empty", takt_quantize(runtime, &options, NULL));
    options.output_path = "takt-misuse-out.gguf";
    options.importance_path = path;
    CHECK_FAILS(TAKT_ERROR_FILE_INVALID, "no importance matrix", takt_quantize(runtime, &options, NULL));
    options.importance_path = NULL;
    options.progress = stop_at_once;
    CHECK_FAILS(TAKT_ERROR_CANCELLED, "cancelled", takt_quantize(runtime, &options, NULL));
    options.struct_size = 3;
    CHECK_FAILS(INVALID, "struct_size is 3", takt_quantize(runtime, &options, NULL));
    CHECK_FAILS(INVALID, "options", takt_quantize_options_init(NULL, sizeof options));
}

static void load_calls(takt_runtime* runtime, const char* path) {
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    takt_model* model = NULL;
    CHECK_FAILS(INVALID, "source", takt_model_load(runtime, &load, &model));
    load.path = path;
    CHECK_FAILS(INVALID, "runtime", takt_model_load(NULL, &load, &model));
    CHECK_FAILS(INVALID, "options", takt_model_load(runtime, NULL, &model));
    CHECK_FAILS(INVALID, "out_model", takt_model_load(runtime, &load, NULL));
    load.memory = path;
    CHECK_FAILS(INVALID, "2 are given", takt_model_load(runtime, &load, &model));
    load.memory = NULL;
    load.metadata_only = 2;
    CHECK_FAILS(INVALID, "metadata_only is 2", takt_model_load(runtime, &load, &model));
    load.metadata_only = 0;
    load.descriptor = -7;
    CHECK_FAILS(INVALID, "descriptor is -7", takt_model_load(runtime, &load, &model));
    load.descriptor = -1;
    load.descriptor_offset = 8;
    CHECK_FAILS(INVALID, "descriptor_offset", takt_model_load(runtime, &load, &model));
    load.descriptor_offset = 0;
    load.backend = "abacus";
    CHECK_FAILS(TAKT_ERROR_NOT_FOUND, "abacus", takt_model_load(runtime, &load, &model));
    load.backend = NULL;
    load.path = "";
    CHECK_FAILS(INVALID, "path is empty", takt_model_load(runtime, &load, &model));
    load.path = "/no/such/folder/model.gguf";
    CHECK_FAILS(TAKT_ERROR_FILE_NOT_FOUND, "/no/such/folder/model.gguf",
                takt_model_load(runtime, &load, &model));
    load.path = "/dev/zero";
    CHECK_FAILS(TAKT_ERROR_FILE_IO, "/dev/zero", takt_model_load(runtime, &load, &model));
    load.path = "/";
    CHECK_FAILS(TAKT_ERROR_FILE_IO, "/", takt_model_load(runtime, &load, &model));
    load.path = NULL;
    load.descriptor = 9999;
    CHECK_FAILS(INVALID, "9999", takt_model_load(runtime, &load, &model));
    CHECK(model == NULL);
}

static int32_t on_simulated(void* user_data, size_t index, const takt_timing* timing) {
    (void)index, (void)timing;
    ++*(int*)user_data;
    return TAKT_STOP;
}

static void simulation_misuse(const takt_model* model) {
    takt_step_cost decode[2] = {{10.0, 1, 0}, {14.0, 2, 0}}, prefill[1] = {{50.0, 9, 0}};
    takt_simulated_request requests[2] = {{100, 9, 3}, {1000, 9, 3}};
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    takt_step_costs costs = TAKT_STEP_COSTS_INIT;
    int n_calls = 0;
    size_t n = 2;
#define SIMULATE takt_model_simulate(model, &limits, &costs, requests, n, on_simulated, &n_calls)
    CHECK_FAILS(INVALID, "options", takt_step_costs_init(NULL, sizeof costs));
    CHECK_FAILS(INVALID, "decode is empty", SIMULATE);
    costs.decode_count = 2;
    CHECK_FAILS(INVALID, "decode is NULL, decode_count is 2", SIMULATE);
    costs.decode = decode;
    CHECK_FAILS(INVALID, "prefill is empty", SIMULATE);
    costs.prefill_count = 1;
    CHECK_FAILS(INVALID, "prefill is NULL, prefill_count is 1", SIMULATE);
    costs.prefill = prefill;
    CHECK_FAILS(INVALID, "model",
                takt_model_simulate(NULL, &limits, &costs, requests, n, on_simulated, &n_calls));
    CHECK_FAILS(INVALID, "costs",
                takt_model_simulate(model, &limits, NULL, requests, n, on_simulated, &n_calls));
    CHECK_FAILS(INVALID, "requests is NULL, n_requests is 2",
                takt_model_simulate(model, &limits, &costs, NULL, n, on_simulated, &n_calls));
    CHECK_FAILS(INVALID, "on_request",
                takt_model_simulate(model, &limits, &costs, requests, n, NULL, &n_calls));
    costs.struct_size = 9;
    CHECK_FAILS(INVALID, "struct_size is 9", SIMULATE);
    costs.struct_size = sizeof costs;
    decode[1].n_rows = 1;
    CHECK_FAILS(INVALID, "decode[1].n_rows is 1", SIMULATE);
    decode[1].n_rows = 2;
    decode[0].n_rows = 0;
    CHECK_FAILS(INVALID, "decode[0].n_rows is 0", SIMULATE);
    decode[0].n_rows = 1;
    decode[1].reserved = 7;
    CHECK_FAILS(INVALID, "decode[1].reserved is 7", SIMULATE);
    decode[1].reserved = 0;
    prefill[0].step_ns = (double)NAN;
    CHECK_FAILS(INVALID, "prefill[0].step_ns is nan", SIMULATE);
    prefill[0].step_ns = -1.0;
    CHECK_FAILS(INVALID, "prefill[0].step_ns is -1", SIMULATE);
    prefill[0].step_ns = 50.0;
    costs.decode_position_ns = (double)INFINITY;
    CHECK_FAILS(INVALID, "decode_position_ns is inf", SIMULATE);
    costs.decode_position_ns = 0.0;
    costs.prefill_position_ns = -2.0;
    CHECK_FAILS(INVALID, "prefill_position_ns is -2", SIMULATE);
    costs.prefill_position_ns = 0.0;
    requests[1].arrival_ns = 99;
    CHECK_FAILS(INVALID, "requests[1].arrival_ns is 99", SIMULATE);
    requests[1].arrival_ns = UINT64_MAX;
    CHECK_FAILS(INVALID, "requests[1].arrival_ns is 18446744073709551615", SIMULATE);
    requests[1].arrival_ns = 1000;
    requests[0].prompt_tokens = 0;
    CHECK_FAILS(INVALID, "requests[0].prompt_tokens is 0", SIMULATE);
    requests[0].prompt_tokens = UINT32_MAX;
    CHECK_FAILS(TAKT_ERROR_PROMPT_TOO_LONG, "requests[0].prompt_tokens is 4294967295", SIMULATE);
    requests[0].prompt_tokens = 9;
    requests[1].output_tokens = 0;
    CHECK_FAILS(INVALID, "requests[1].output_tokens is 0", SIMULATE);
    requests[1].output_tokens = UINT32_MAX; /* ends where the context is full */
    limits.draft_model = model;
    CHECK_FAILS(INVALID, "draft_model", SIMULATE);
    limits.draft_model = NULL;
    limits.backend = "abacus";
    CHECK_FAILS(TAKT_ERROR_NOT_FOUND, "abacus", SIMULATE);
    limits.backend = NULL;
    limits.max_sequences = 5000;
    CHECK_FAILS(INVALID, "max_sequences is 5000", SIMULATE);
    limits.max_sequences = 0;
    limits.memory_limit_bytes = 1;
    CHECK_FAILS(TAKT_ERROR_OUT_OF_MEMORY, "memory_limit_bytes is 1", SIMULATE);
    limits.memory_limit_bytes = 0;
    CHECK(n_calls == 0);
    CHECK_FAILS(TAKT_ERROR_CANCELLED, "requests[0]", SIMULATE);
    CHECK(n_calls == 1);
    n = 0;
    CHECK_OK(SIMULATE);
#undef SIMULATE
}

static void on_text(void* user_data, const char* text, size_t text_bytes) {
    (void)text, (void)text_bytes;
    ++*(int*)user_data;
}

static void profile_misuse(const takt_model* model) {
    takt_profile_options options = TAKT_PROFILE_OPTIONS_INIT;
    int n_calls = 0;
    CHECK_FAILS(INVALID, "options", takt_profile_options_init(NULL, sizeof options));
    CHECK_FAILS(INVALID, "model", takt_model_profile(NULL, &options, on_text, &n_calls));
    CHECK_FAILS(INVALID, "on_profile", takt_model_profile(model, &options, NULL, NULL));
    options.limits = 2;
    CHECK_FAILS(INVALID, "limits is 2", takt_model_profile(model, &options, on_text, &n_calls));
    options.limits = 0;
    options.n_rows = 0;
    CHECK_FAILS(INVALID, "n_rows is 0", takt_model_profile(model, &options, on_text, &n_calls));
    options.n_rows = 1;
    options.n_output_rows = 2;
    CHECK_FAILS(INVALID, "n_output_rows is 2", takt_model_profile(model, &options, on_text, &n_calls));
    options.n_output_rows = 1;
    options.n_sequences = 257;
    CHECK_FAILS(INVALID, "n_sequences is 257", takt_model_profile(model, &options, on_text, &n_calls));
    options.n_sequences = 1;
    options.repetitions = 1001;
    CHECK_FAILS(INVALID, "repetitions is 1001", takt_model_profile(model, &options, on_text, &n_calls));
    options.repetitions = 0;
    options.kv_type = 9;
    CHECK_FAILS(INVALID, "kv_type is 9", takt_model_profile(model, &options, on_text, &n_calls));
    options.kv_type = 0;
    options.reserved = 1;
    CHECK_FAILS(INVALID, "reserved is 1", takt_model_profile(model, &options, on_text, &n_calls));
    options.reserved = 0;
    options.first_position = UINT32_MAX;
    CHECK_FAILS(INVALID, "first_position 4294967295", takt_model_profile(model, &options, on_text, &n_calls));
    options.first_position = 0;
    options.backend = "abacus";
    CHECK_FAILS(TAKT_ERROR_NOT_FOUND, "abacus", takt_model_profile(model, &options, on_text, &n_calls));
    options.struct_size = 1;
    CHECK_FAILS(INVALID, "struct_size is 1", takt_model_profile(model, &options, on_text, &n_calls));
    CHECK(n_calls == 0);
}

static void model_calls(takt_model* model) {
    takt_model_info info = {0};
    takt_memory_plan plan = {0};
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    int32_t ids[4] = {1, 2, 3, 4};
    char text[4] = {'#', '#', '#', '#'};
    size_t size = 77;
    CHECK_FAILS(INVALID, "out_info", takt_model_get_info(model, NULL));
    CHECK_FAILS(INVALID, "struct_size is 0", takt_model_get_info(model, &info));
    info.struct_size = sizeof info;
    CHECK_FAILS(INVALID, "model", takt_model_get_info(NULL, &info));
    CHECK_FAILS(INVALID, "model", takt_model_calibrate(NULL, ids, 2, 0, "out", NULL, NULL));
    CHECK_FAILS(INVALID, "ids", takt_model_calibrate(model, NULL, 2, 0, "out", NULL, NULL));
    CHECK_FAILS(INVALID, "path is NULL", takt_model_calibrate(model, ids, 2, 0, NULL, NULL, NULL));
    CHECK_FAILS(INVALID, "0 tokens", takt_model_calibrate(model, NULL, 0, 0, "out", NULL, NULL));
    CHECK_FAILS(INVALID, "window_tokens is 1", takt_model_calibrate(model, ids, 2, 1, "out", NULL, NULL));
    CHECK_FAILS(TAKT_ERROR_CANCELLED, "cancelled",
                takt_model_calibrate(model, ids, 2, 0, "out", stop_at_once, NULL));
    CHECK_FAILS(TAKT_ERROR_FILE_NOT_FOUND, "/no/such",
                takt_model_calibrate(model, ids, 2, 0, "/no/such/out", NULL, NULL));
    CHECK_FAILS(INVALID, "model", takt_model_inspect(NULL, NULL, 0, &size));
    CHECK_FAILS(INVALID, "out_bytes", takt_model_inspect(model, NULL, 0, NULL));
    CHECK_FAILS(INVALID, "out_text", takt_model_inspect(model, NULL, 5, &size));
    CHECK_FAILS(TAKT_ERROR_BUFFER_TOO_SMALL, "out_text holds 4", takt_model_inspect(model, text, 4, &size));
    CHECK(size > 1000 && text[0] == '#');
    CHECK_FAILS(INVALID, "model", takt_model_program(NULL, NULL, 0, &size));
    CHECK_FAILS(INVALID, "out_bytes", takt_model_program(model, NULL, 0, NULL));
    CHECK_FAILS(INVALID, "out_plan", takt_model_plan(model, NULL, NULL));
    plan.struct_size = sizeof plan;
    CHECK_FAILS(INVALID, "model", takt_model_plan(NULL, NULL, &plan));
    profile_misuse(model);
    simulation_misuse(model);
    limits.kv_type = 4;
    CHECK_FAILS(INVALID, "kv_type is 4, must be 0 to 3", takt_model_plan(model, &limits, &plan));
    limits.kv_type = 0;
    limits.no_prefix_reuse = 2;
    CHECK_FAILS(INVALID, "no_prefix_reuse is 2", takt_model_plan(model, &limits, &plan));
    limits.no_prefix_reuse = 0;
    limits.page_tokens = 24;
    CHECK_FAILS(INVALID, "page_tokens is 24, must be a power of two from 16 to 4096",
                takt_model_plan(model, &limits, &plan));
    limits.page_tokens = 0;
    limits.memory_limit_bytes = 1000;
    CHECK_FAILS(TAKT_ERROR_OUT_OF_MEMORY, "memory_limit_bytes is 1000",
                takt_model_plan(model, &limits, &plan));
    limits.memory_limit_bytes = 0;

    CHECK_FAILS(INVALID, "model", takt_model_tokenize(NULL, "a", 1, 0, ids, 4, &size));
    CHECK_FAILS(INVALID, "text is NULL", takt_model_tokenize(model, NULL, 1, 0, ids, 4, &size));
    CHECK_FAILS(INVALID, "out_count", takt_model_tokenize(model, "a", 1, 0, ids, 4, NULL));
    CHECK_FAILS(INVALID, "out_ids", takt_model_tokenize(model, "a", 1, 0, NULL, 4, &size));
    CHECK_FAILS(INVALID, "flags is 0x9", takt_model_tokenize(model, "a", 1, 9, ids, 4, &size));
    CHECK_FAILS(INVALID, "2147483648", takt_model_tokenize(model, "a", (size_t)1 << 31, 0, ids, 4, &size));
    CHECK_FAILS(TAKT_ERROR_BUFFER_TOO_SMALL, "10 are needed",
                takt_model_tokenize(model, "Hello, world!", 13, 0, ids, 4, &size));
    CHECK(size == 10 && ids[0] == 1);
    CHECK_OK(takt_model_tokenize(model, NULL, 0, 0, ids, 4, &size));
    CHECK(size == 0);
    ids[2] = 384;
    CHECK_FAILS(INVALID, "ids[2] is 384", takt_model_detokenize(model, ids, 4, 0, text, 4, &size));
    ids[2] = -1;
    CHECK_FAILS(INVALID, "ids[2] is -1", takt_model_detokenize(model, ids, 4, 0, text, 4, &size));
    CHECK_FAILS(INVALID, "model", takt_model_detokenize(NULL, ids, 1, 0, text, 4, &size));
    CHECK_FAILS(INVALID, "ids is NULL", takt_model_detokenize(model, NULL, 1, 0, text, 4, &size));
    CHECK_FAILS(INVALID, "out_bytes", takt_model_detokenize(model, ids, 1, 0, text, 4, NULL));
    CHECK_FAILS(INVALID, "keep_special is 2", takt_model_detokenize(model, ids, 1, 2, text, 4, &size));
    CHECK_OK(takt_model_detokenize(model, NULL, 0, 0, text, 4, &size));
    CHECK(size == 0);
    CHECK_FAILS(INVALID, "model", takt_model_render_chat(NULL, "{}", 2, 1, text, 4, &size));
    CHECK_FAILS(INVALID, "json is NULL", takt_model_render_chat(model, NULL, 0, 1, text, 4, &size));
    CHECK_FAILS(INVALID, "add_generation_prompt is 5",
                takt_model_render_chat(model, "{}", 2, 5, text, 4, &size));
    CHECK_FAILS(INVALID, "out_bytes", takt_model_render_chat(model, "{}", 2, 1, text, 4, NULL));
}

static void engine_create_calls(takt_model* model) {
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    takt_engine* engine = NULL;
    CHECK_FAILS(INVALID, "out_engine", takt_engine_create(model, NULL, NULL));
    CHECK_FAILS(INVALID, "model", takt_engine_create(NULL, NULL, &engine));
    limits.struct_size = 3;
    CHECK_FAILS(INVALID, "struct_size is 3", takt_engine_create(model, &limits, &engine));
    limits.struct_size = sizeof limits;
    limits.deterministic = 7;
    CHECK_FAILS(INVALID, "deterministic is 7", takt_engine_create(model, &limits, &engine));
    limits.deterministic = 0;
    limits.backend = "abacus";
    CHECK_FAILS(TAKT_ERROR_NOT_FOUND, "abacus", takt_engine_create(model, &limits, &engine));
    limits.backend = NULL;
    limits.context_tokens = 0x80000000u;
    CHECK_FAILS(INVALID, "2147483648", takt_engine_create(model, &limits, &engine));
    limits.context_tokens = 0;
    limits.chunk_tokens = 0x80000000u;
    CHECK_FAILS(INVALID, "2147483648", takt_engine_create(model, &limits, &engine));
    CHECK(engine == NULL);
}

/* What an engine's numbers are made by. */
static void engine_number_options(takt_model* model) {
    static const double kNone[3] = {NAN, -1, INFINITY};
    static const char* const kPerToken[3] = {"smooth_seconds_per_token is nan",
                                             "smooth_seconds_per_token is -1",
                                             "smooth_seconds_per_token is inf"};
    static const char* const kAlpha[3] = {"smooth_alpha is nan", "smooth_alpha is -1", "smooth_alpha is inf"};
    const takt_engine_options plain = TAKT_ENGINE_OPTIONS_INIT;
    takt_engine_options limits = plain;
    takt_memory_plan plan = {0};
    takt_slo slo = TAKT_SLO_INIT;
    takt_engine* engine = NULL;
    int i;
    plan.struct_size = sizeof plan;
#define REFUSED(WORD)                                                        \
    CHECK_FAILS(INVALID, WORD, takt_engine_create(model, &limits, &engine)); \
    CHECK(engine == NULL);                                                   \
    CHECK_FAILS(INVALID, WORD, takt_model_plan(model, &limits, &plan));      \
    limits = plain
    for (i = 0; i < 3; ++i) {
        limits.smooth_seconds_per_token = kNone[i];
        REFUSED(kPerToken[i]);
        limits.smooth_alpha = kNone[i];
        REFUSED(kAlpha[i]);
    }
    limits.smooth_origin = 2;
    REFUSED("smooth_origin is 2, must be 0 or 1");
    limits.trace_steps = 1048577;
    REFUSED("trace_steps is 1048577");
    limits.trace_steps = UINT32_MAX;
    REFUSED("trace_steps is 4294967295");
    limits.reserved = 1;
    REFUSED("reserved is 1");
    slo.struct_size = 0;
    limits.slo = &slo;
    REFUSED("slo->struct_size is 0");
    slo.struct_size = sizeof slo - 1;
    limits.slo = &slo;
    REFUSED("slo->struct_size is 39");
#undef REFUSED
    /* A program of the first release says nothing of what came later. */
    limits.struct_size = offsetof(takt_engine_options, name);
    limits.trace_steps = UINT32_MAX;
    limits.smooth_alpha = NAN;
    limits.slo = &slo;
    CHECK_OK(takt_model_plan(model, &limits, &plan));
}

static void request_options(takt_engine* engine) {
    static const char* const stops[2] = {"x", ""};
    static const int32_t ids[3] = {1, 2, 384};
    static const float values[1] = {1.0f};
    const takt_request_options plain = TAKT_REQUEST_OPTIONS_INIT;
    takt_request_options ask = plain;
    takt_request* request = NULL;
    takt_timing timing = {0};
    takt_slo slo = TAKT_SLO_INIT;
#define REFUSED(STATUS, WORD)                                              \
    CHECK_FAILS(STATUS, WORD, takt_engine_submit(engine, &ask, &request)); \
    CHECK(request == NULL);                                                \
    CHECK_FAILS(STATUS, WORD, takt_engine_generate(engine, &ask, NULL))
#define FRESH (ask = plain, ask.prompt = "ab", ask.prompt_bytes = 2)
    FRESH;
    CHECK_FAILS(INVALID, "engine", takt_engine_submit(NULL, &ask, &request));
    CHECK_FAILS(INVALID, "options", takt_engine_submit(engine, NULL, &request));
    CHECK_FAILS(INVALID, "out_request", takt_engine_submit(engine, &ask, NULL));
    CHECK_FAILS(INVALID, "engine", takt_engine_generate(NULL, &ask, NULL));
    CHECK_FAILS(INVALID, "options", takt_engine_generate(engine, NULL, NULL));
    CHECK_FAILS(INVALID, "struct_size is 0", takt_engine_generate(engine, &ask, &timing));
    ask.struct_size = 16;
    REFUSED(INVALID, "struct_size is 16");
    ask = plain;
    REFUSED(TAKT_ERROR_PROMPT_EMPTY, "prompt");
    FRESH, ask.prompt_ids = ids, ask.prompt_ids_count = 1;
    REFUSED(INVALID, "prompt_ids");
    FRESH, ask.prompt = NULL;
    REFUSED(INVALID, "prompt is NULL");
    FRESH, ask.prompt = NULL, ask.prompt_bytes = 0, ask.prompt_ids = ids, ask.prompt_ids_count = 3;
    REFUSED(INVALID, "prompt_ids[2] is 384");
    FRESH, ask.prompt = "", ask.prompt_bytes = 0, ask.prompt_flags = 0;
    REFUSED(TAKT_ERROR_PROMPT_EMPTY, "empty");
    FRESH, ask.prompt_flags = 4;
    REFUSED(INVALID, "prompt_flags is 0x4");
    FRESH, ask.context_policy = 2;
    REFUSED(INVALID, "context_policy is 2, must be 0 or 1");
    FRESH, ask.pinned_tokens = 9;
    REFUSED(INVALID, "pinned_tokens is 9");
    FRESH, ask.stop_strings = stops, ask.stop_strings_count = 2;
    REFUSED(INVALID, "stop_strings[1] is empty");
    FRESH, ask.stop_strings_count = 1;
    REFUSED(INVALID, "stop_strings is NULL");
    FRESH, ask.stop_ids_count = 1;
    REFUSED(INVALID, "stop_ids is NULL");
    FRESH, ask.logit_bias_count = 1, ask.logit_bias_ids = ids;
    REFUSED(INVALID, "logit_bias_values is NULL");
    FRESH, ask.logit_bias_count = 1, ask.logit_bias_ids = ids + 2, ask.logit_bias_values = values;
    REFUSED(INVALID, "384");
    FRESH, ask.ignore_eos = 2;
    REFUSED(INVALID, "ignore_eos is 2");
    FRESH, ask.temperature = -1.0f;
    REFUSED(INVALID, "temperature");
    FRESH, ask.top_p = 1.5f;
    REFUSED(INVALID, "top_p");
    FRESH, ask.repetition_penalty = 0.0f;
    REFUSED(INVALID, "repetition_penalty");
    FRESH, ask.reserved = 3;
    REFUSED(INVALID, "reserved is 3");
    FRESH, slo.struct_size = 0, ask.slo = &slo;
    REFUSED(INVALID, "slo->struct_size is 0");
    FRESH, slo.struct_size = 8, ask.slo = &slo;
    REFUSED(INVALID, "slo->struct_size is 8");
#undef FRESH
#undef REFUSED
}

static void engine_calls(takt_engine* engine) {
    static const int32_t ids[2] = {1, 999};
    takt_engine_statistics now = {0};
    CHECK_FAILS(INVALID, "out_statistics", takt_engine_get_statistics(engine, NULL));
    CHECK_FAILS(INVALID, "struct_size is 0", takt_engine_get_statistics(engine, &now));
    now.struct_size = sizeof now;
    CHECK_FAILS(INVALID, "engine", takt_engine_get_statistics(NULL, &now));
    CHECK_FAILS(INVALID, "engine", takt_engine_evaluate(NULL, ids, 1, 0, 0, on_logits, NULL));
    CHECK_FAILS(INVALID, "ids", takt_engine_evaluate(engine, NULL, 1, 0, 0, on_logits, NULL));
    CHECK_FAILS(INVALID, "on_logits", takt_engine_evaluate(engine, ids, 1, 0, 0, NULL, NULL));
    CHECK_FAILS(INVALID, "ids[1] is 999", takt_engine_evaluate(engine, ids, 2, 0, 0, on_logits, NULL));
    CHECK_FAILS(INVALID, "first_position is 1", takt_engine_evaluate(engine, ids, 1, 1, 0, on_logits, NULL));
    CHECK_FAILS(TAKT_ERROR_PROMPT_EMPTY, "no tokens",
                takt_engine_evaluate(engine, ids, 0, 0, 0, on_logits, NULL));
}

static void request_calls(takt_engine* engine) {
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_request* request = NULL;
    takt_event event = {0};
    takt_timing timing = {0};
    size_t count = 0;
    ask.prompt = "ab";
    ask.prompt_bytes = 2;
    ask.max_tokens = 0;
    CHECK_OK(takt_engine_submit(engine, &ask, &request));
    event.struct_size = sizeof event;
    timing.struct_size = sizeof timing;
    CHECK_FAILS(INVALID, "request", takt_request_next(NULL, 0, &event));
    CHECK_FAILS(INVALID, "out_event", takt_request_next(request, 0, NULL));
    CHECK_FAILS(INVALID, "request", takt_request_wait(NULL, 0));
    CHECK_FAILS(INVALID, "request", takt_request_cancel(NULL));
    CHECK_FAILS(INVALID, "request", takt_request_status(NULL, NULL));
    CHECK_FAILS(INVALID, "request", takt_request_timing(NULL, &timing));
    CHECK_FAILS(INVALID, "out_timing", takt_request_timing(request, NULL));
    CHECK_FAILS(INVALID, "request", takt_request_prompt_ids(NULL, NULL, 0, &count));
    CHECK_FAILS(INVALID, "out_count", takt_request_prompt_ids(request, NULL, 0, NULL));
    event.struct_size = 1;
    CHECK_FAILS(INVALID, "struct_size is 1", takt_request_next(request, 0, &event));
    CHECK(takt_request_status(request, NULL) == TAKT_OK);
    takt_request_destroy(request);
}

static int32_t take_nothing(void* user_data, const void* bytes, size_t n_bytes) {
    (void)user_data, (void)bytes, (void)n_bytes;
    return TAKT_STOP;
}

static int32_t give_nothing(void* user_data, void* out_bytes, size_t n_bytes) {
    (void)user_data, (void)out_bytes, (void)n_bytes;
    return TAKT_STOP;
}

static int32_t give_zeros(void* user_data, void* out_bytes, size_t n_bytes) {
    (void)user_data;
    memset(out_bytes, 0, n_bytes);
    return TAKT_CONTINUE;
}

static void transfer_calls(takt_engine* engine) {
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_request *request = NULL, *kept = NULL, *other = NULL;
    takt_transfer transfer = {0};
    ask.prompt = "ab";
    ask.prompt_bytes = 2;
    ask.max_tokens = 0;
    ask.keep_state = 2;
    CHECK_FAILS(INVALID, "keep_state is 2", takt_engine_submit(engine, &ask, &request));
    ask.keep_state = 0;
    ask.draft_rule = 2;
    CHECK_FAILS(INVALID, "draft_rule is 2", takt_engine_submit(engine, &ask, &request));
    ask.draft_rule = 0;
    ask.drafts = 4;
    CHECK_FAILS(INVALID, "drafts is 4", takt_engine_submit(engine, &ask, &request));
    ask.drafts = TAKT_DRAFTS_MODEL;
    CHECK_FAILS(INVALID, "draft model", takt_engine_submit(engine, &ask, &request));
    ask.drafts = 0;
    ask.max_drafts = 16;
    CHECK_FAILS(INVALID, "max_drafts is 16", takt_engine_submit(engine, &ask, &request));
    ask.max_drafts = 0;
    CHECK_OK(takt_engine_submit(engine, &ask, &request));
    ask.keep_state = 1;
    CHECK_OK(takt_engine_submit(engine, &ask, &kept));
    CHECK_OK(takt_request_wait(request, UINT64_MAX));
    CHECK_OK(takt_request_wait(kept, UINT64_MAX));
    ask.keep_state = 0;
    CHECK_FAILS(INVALID, "source", takt_request_fork(NULL, &ask, 0, &other));
    CHECK_FAILS(INVALID, "options", takt_request_fork(request, NULL, 0, &other));
    CHECK_FAILS(INVALID, "out_request", takt_request_fork(request, &ask, 0, NULL));
    CHECK_FAILS(INVALID, "n_tokens is 99", takt_request_fork(request, &ask, 99, &other));
    CHECK(other == NULL);
    CHECK_FAILS(INVALID, "request", takt_request_export(NULL, take_nothing, NULL, NULL));
    CHECK_FAILS(INVALID, "write", takt_request_export(kept, NULL, NULL, NULL));
    CHECK_FAILS(INVALID, "struct_size is 0", takt_request_export(kept, take_nothing, NULL, &transfer));
    transfer.struct_size = sizeof transfer;
    CHECK_FAILS(TAKT_ERROR_INVALID_STATE, "keep_state",
                takt_request_export(request, take_nothing, NULL, &transfer));
    CHECK_FAILS(TAKT_ERROR_CANCELLED, "not taken", takt_request_export(kept, take_nothing, NULL, &transfer));
    CHECK(transfer.transfer_bytes == 0 && transfer.n_tokens == 3);
    CHECK_FAILS(INVALID, "engine", takt_engine_import(NULL, give_nothing, NULL, &ask, NULL, &other));
    CHECK_FAILS(INVALID, "read", takt_engine_import(engine, NULL, NULL, &ask, NULL, &other));
    CHECK_FAILS(INVALID, "options", takt_engine_import(engine, give_nothing, NULL, NULL, NULL, &other));
    CHECK_FAILS(INVALID, "out_request", takt_engine_import(engine, give_nothing, NULL, &ask, NULL, NULL));
    CHECK_FAILS(TAKT_ERROR_STATE_CORRUPT, "byte",
                takt_engine_import(engine, give_nothing, NULL, &ask, &transfer, &other));
    CHECK_FAILS(TAKT_ERROR_STATE_CORRUPT, "TAKTSTAT",
                takt_engine_import(engine, give_zeros, NULL, &ask, &transfer, &other));
    CHECK(other == NULL);
    takt_request_destroy(request);
    takt_request_destroy(kept);
}

static void percentile_calls(void) {
    double samples[3] = {3, 1, 2}, value = 7;
    CHECK_FAILS(INVALID, "samples is NULL, count is 3", takt_percentile(NULL, 3, 0.5, 0, &value));
    CHECK_FAILS(INVALID, "out_value", takt_percentile(samples, 3, 0.5, 0, NULL));
    CHECK_FAILS(INVALID, "part is nan", takt_percentile(samples, 3, NAN, 0, &value));
    CHECK_FAILS(INVALID, "part is -1", takt_percentile(samples, 3, -1, 0, &value));
    CHECK_FAILS(INVALID, "part is 2", takt_percentile(samples, 3, 2, 0, &value));
    CHECK_FAILS(INVALID, "part is inf", takt_percentile(samples, 3, INFINITY, 0, &value));
    CHECK_FAILS(INVALID, "rule is 3, must be 0 to 2", takt_percentile(samples, 3, 0.5, 3, &value));
    samples[1] = NAN;
    CHECK_FAILS(INVALID, "samples[1] is NaN", takt_percentile(samples, 3, 0.5, 0, &value));
    CHECK(value == 7 && samples[0] == 3 && samples[2] == 2); /* nothing was sorted or told */
    samples[1] = INFINITY;
    CHECK_OK(takt_percentile(samples, 3, 1, 0, &value));
    CHECK(isinf(value));
}

static void slo_calls(void) {
    takt_slo_preset preset = {0};
    takt_slo slo = TAKT_SLO_INIT;
    takt_timing timing = {0};
    uint32_t verdict = 7, broken = 7;
    CHECK_FAILS(INVALID, "out_preset", takt_slo_preset_get(0, NULL));
    CHECK_FAILS(INVALID, "out_preset->struct_size is 0", takt_slo_preset_get(0, &preset));
    preset.struct_size = sizeof preset;
    CHECK_FAILS(INVALID, "index is 16", takt_slo_preset_get(takt_slo_preset_count(), &preset));
    CHECK_FAILS(INVALID, "index is", takt_slo_preset_get(SIZE_MAX, &preset));
    CHECK_FAILS(INVALID, "timing->struct_size is 0", takt_timing_judge(&timing, &slo, &verdict, &broken));
    timing.struct_size = sizeof timing;
    CHECK_FAILS(INVALID, "timing is NULL", takt_timing_judge(NULL, &slo, &verdict, &broken));
    CHECK_FAILS(INVALID, "slo is NULL", takt_timing_judge(&timing, NULL, &verdict, &broken));
    CHECK_FAILS(INVALID, "out_verdict", takt_timing_judge(&timing, &slo, NULL, &broken));
    timing.finish_reason = 7;
    CHECK_FAILS(INVALID, "finish_reason is 7", takt_timing_judge(&timing, &slo, &verdict, &broken));
    timing.finish_reason = -1;
    CHECK_FAILS(INVALID, "finish_reason is -1", takt_timing_judge(&timing, &slo, &verdict, &broken));
    timing.finish_reason = TAKT_FINISH_STOP;
    slo.struct_size = 39;
    CHECK_FAILS(INVALID, "slo->struct_size is 39", takt_timing_judge(&timing, &slo, &verdict, &broken));
    CHECK(verdict == 7 && broken == 7);
}

static void metric_calls(const takt_snapshot* snapshot) {
    takt_metric_info info = {0};
    takt_histogram histogram = {0};
    takt_totals totals = {0};
    double value = 7;
    uint64_t count = 7;
    const size_t none = takt_metric_count();
    char word[32];
    snprintf(word, sizeof word, "metric is %u", (unsigned)none);
    CHECK_FAILS(INVALID, "out_info", takt_metric_get(0, NULL));
    CHECK_FAILS(INVALID, "out_info->struct_size is 0", takt_metric_get(0, &info));
    info.struct_size = sizeof info;
    CHECK_FAILS(INVALID, word, takt_metric_get(none, &info));
    CHECK_FAILS(INVALID, "out_totals", takt_snapshot_totals(snapshot, NULL));
    CHECK_FAILS(INVALID, "out_totals->struct_size is 0", takt_snapshot_totals(snapshot, &totals));
    totals.struct_size = sizeof totals;
    CHECK_FAILS(INVALID, "snapshot", takt_snapshot_totals(NULL, &totals));
    CHECK_FAILS(INVALID, "out_histogram", takt_snapshot_histogram(snapshot, 0, NULL));
    CHECK_FAILS(INVALID, "out_histogram->struct_size is 0", takt_snapshot_histogram(snapshot, 0, &histogram));
    histogram.struct_size = sizeof histogram;
    CHECK_FAILS(INVALID, "snapshot", takt_snapshot_histogram(NULL, 0, &histogram));
    CHECK_FAILS(INVALID, word, takt_snapshot_histogram(snapshot, none, &histogram));
    CHECK_FAILS(INVALID, "metric is 18446744073709551615",
                takt_snapshot_histogram(snapshot, SIZE_MAX, &histogram));
    CHECK_FAILS(INVALID, "snapshot", takt_snapshot_percentile(NULL, 0, 0.5, 0, &value, &count));
    CHECK_FAILS(INVALID, "out_value", takt_snapshot_percentile(snapshot, 0, 0.5, 0, NULL, &count));
    CHECK_FAILS(INVALID, word, takt_snapshot_percentile(snapshot, none, 0.5, 0, &value, &count));
    CHECK_FAILS(INVALID, "part is nan", takt_snapshot_percentile(snapshot, 0, NAN, 0, &value, &count));
    CHECK_FAILS(INVALID, "part is -1", takt_snapshot_percentile(snapshot, 0, -1, 0, &value, &count));
    CHECK_FAILS(INVALID, "part is 2", takt_snapshot_percentile(snapshot, 0, 2, 0, &value, &count));
    CHECK_FAILS(INVALID, "rule is 3", takt_snapshot_percentile(snapshot, 0, 0.5, 3, &value, &count));
    CHECK(value == 7 && count == 7 && histogram.count == 0);
}

static void snapshot_texts(const takt_snapshot* snapshot) {
    char text[4] = {'#', '#', '#', '#'};
    size_t size = 77;
    typedef takt_status (*call)(const takt_snapshot*, char*, size_t, size_t*);
    static const call kCalls[2] = {takt_snapshot_json, takt_snapshot_prometheus};
    int i;
    for (i = 0; i < 2; ++i) {
        CHECK_FAILS(INVALID, "snapshot", kCalls[i](NULL, text, 4, &size));
        CHECK_FAILS(INVALID, "out_bytes", kCalls[i](snapshot, text, 4, NULL));
        CHECK_FAILS(INVALID, "out_text", kCalls[i](snapshot, NULL, 4, &size));
        CHECK_FAILS(TAKT_ERROR_BUFFER_TOO_SMALL, "out_text holds 4", kCalls[i](snapshot, text, 4, &size));
        CHECK(size > 1000 && text[0] == '#');
    }
    CHECK_FAILS(INVALID, "snapshot", takt_snapshot_export(NULL, text, 4, &size));
    CHECK_FAILS(INVALID, "out_bytes", takt_snapshot_export(snapshot, text, 4, NULL));
    CHECK_FAILS(INVALID, "out_data", takt_snapshot_export(snapshot, NULL, 4, &size));
    CHECK_FAILS(TAKT_ERROR_BUFFER_TOO_SMALL, "out_data holds 4",
                takt_snapshot_export(snapshot, text, 4, &size));
    CHECK(size > 100 && text[0] == '#');
}

#define CORRUPT TAKT_ERROR_STATE_CORRUPT
static void snapshot_imports(const takt_snapshot* snapshot) {
    takt_snapshot* other = NULL;
    unsigned char *data, noise[4096];
    size_t size = 0, i;
    uint32_t state = 1;
    CHECK_OK(takt_snapshot_export(snapshot, NULL, 0, &size));
    data = malloc(size + 1);
    CHECK_OK(takt_snapshot_export(snapshot, data, size, &size));
    CHECK_FAILS(INVALID, "data", takt_snapshot_import(NULL, 0, &other));
    CHECK_FAILS(INVALID, "data", takt_snapshot_import(NULL, size, &other));
    CHECK_FAILS(INVALID, "out_snapshot", takt_snapshot_import(data, size, NULL));
    CHECK_FAILS(CORRUPT, "0 bytes", takt_snapshot_import(data, 0, &other));
    CHECK_FAILS(CORRUPT, "19 bytes", takt_snapshot_import(data, 19, &other));
    CHECK_FAILS(CORRUPT, "cut or changed", takt_snapshot_import(data, size - 1, &other));
    CHECK_FAILS(CORRUPT, "cut or changed", takt_snapshot_import(data, size / 2, &other));
    data[size] = 0;
    CHECK_FAILS(CORRUPT, "cut or changed", takt_snapshot_import(data, size + 1, &other));
    data[size / 2] ^= 1;
    CHECK_FAILS(CORRUPT, "cut or changed", takt_snapshot_import(data, size, &other));
    data[size / 2] ^= 1;
    data[8] = 9; /* behind 8 bytes that say what it is */
    CHECK_FAILS(TAKT_ERROR_STATE_MISMATCH, "version 9", takt_snapshot_import(data, size, &other));
    data[8] = 1;
    CHECK_OK(takt_snapshot_import(data, size, &other));
    takt_snapshot_destroy(other);
    other = NULL;
    for (i = 0; i < sizeof noise; ++i) {
        state = state * 1664525u + 1013904223u;
        noise[i] = (unsigned char)(state >> 24);
    }
    CHECK_FAILS(CORRUPT, "doesn't begin", takt_snapshot_import(noise, sizeof noise, &other));
    memcpy(noise, data, 12); /* the same with the right beginning */
    CHECK_FAILS(CORRUPT, "cut or changed", takt_snapshot_import(noise, sizeof noise, &other));
    memset(noise, 0, sizeof noise);
    CHECK_FAILS(CORRUPT, "doesn't begin", takt_snapshot_import(noise, sizeof noise, &other));
    CHECK(other == NULL);
    free(data);
}

static void snapshot_calls(takt_model* model, takt_engine* engine) {
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    takt_engine* stranger = NULL;
    takt_snapshot *first = NULL, *second = NULL, *foreign = NULL, *out = NULL;
    int n_calls = 0;
    CHECK_FAILS(INVALID, "engine", takt_engine_snapshot(NULL, &out));
    CHECK_FAILS(INVALID, "out_snapshot", takt_engine_snapshot(engine, NULL));
    CHECK_FAILS(INVALID, "engine", takt_engine_trace(NULL, on_text, &n_calls));
    CHECK_FAILS(INVALID, "on_trace", takt_engine_trace(engine, NULL, NULL));
    CHECK(n_calls == 0);
    ask.prompt = "ab";
    ask.prompt_bytes = 2;
    ask.max_tokens = 2;
    CHECK_OK(takt_engine_snapshot(engine, &first));
    CHECK_OK(takt_engine_generate(engine, &ask, NULL));
    CHECK_OK(takt_engine_snapshot(engine, &second));
    limits.context_tokens = 64;
    CHECK_OK(takt_engine_create(model, &limits, &stranger));
    CHECK_OK(takt_engine_snapshot(stranger, &foreign));
    CHECK_OK(takt_engine_destroy(stranger));
    CHECK_FAILS(INVALID, "later", takt_snapshot_difference(NULL, first, &out));
    CHECK_FAILS(INVALID, "earlier", takt_snapshot_difference(second, NULL, &out));
    CHECK_FAILS(INVALID, "out_snapshot", takt_snapshot_difference(second, first, NULL));
    CHECK_FAILS(INVALID, "is no earlier snapshot", takt_snapshot_difference(first, second, &out));
    CHECK_FAILS(INVALID, "is no earlier snapshot", takt_snapshot_difference(foreign, second, &out));
    CHECK_FAILS(INVALID, "is no earlier snapshot", takt_snapshot_difference(second, foreign, &out));
    CHECK_FAILS(INVALID, "one", takt_snapshot_merge(NULL, first, &out));
    CHECK_FAILS(INVALID, "other", takt_snapshot_merge(first, NULL, &out));
    CHECK_FAILS(INVALID, "out_snapshot", takt_snapshot_merge(first, second, NULL));
    CHECK(out == NULL);
    metric_calls(second);
    snapshot_texts(second);
    snapshot_imports(second);
    takt_snapshot_destroy(first);
    takt_snapshot_destroy(second);
    takt_snapshot_destroy(foreign);
    CHECK_OK(takt_engine_generate(engine, &ask, NULL)); /* and the engine goes on */
}

static void session_calls(takt_engine* engine) {
    takt_session* session = NULL;
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    CHECK_FAILS(INVALID, "engine", takt_session_create(NULL, NULL, 0, &session));
    CHECK_FAILS(INVALID, "out_session", takt_session_create(engine, NULL, 0, NULL));
    CHECK_FAILS(INVALID, "system is NULL", takt_session_create(engine, NULL, 4, &session));
    CHECK_FAILS(INVALID, "session", takt_session_send(NULL, "a", 1, &ask, NULL));
    CHECK_FAILS(INVALID, "session", takt_session_cancel(NULL));
    CHECK_FAILS(INVALID, "session", takt_session_reset(NULL));
    CHECK_OK(takt_session_create(engine, NULL, 0, &session));
    CHECK_FAILS(INVALID, "text is NULL", takt_session_send(session, NULL, 1, &ask, NULL));
    CHECK_FAILS(INVALID, "options", takt_session_send(session, "a", 1, NULL, NULL));
    ask.struct_size = 5;
    CHECK_FAILS(INVALID, "struct_size is 5", takt_session_send(session, "a", 1, &ask, NULL));
    takt_session_destroy(session);
}

/* Fields that a struct doesn't have yet are neither read nor written. */
static void longer_structs(takt_model* model) {
    struct {
        takt_model_info info;
        unsigned char later[32];
    } newer;
    memset(&newer, 0xA5, sizeof newer);
    newer.info.struct_size = sizeof newer;
    CHECK_OK(takt_model_get_info(model, &newer.info));
    CHECK(newer.info.struct_size == sizeof(takt_model_info) && newer.later[0] == 0xA5 &&
          newer.later[31] == 0xA5);
}

int main(int argc, char** argv) {
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    takt_runtime* runtime = NULL;
    takt_model* model = NULL;
    takt_engine* engine = NULL;
    if (argc != 2) return 2;
    load.path = argv[1];
    limits.context_tokens = 64;
    CHECK_OK(takt_runtime_create(NULL, &runtime));
    CHECK_OK(takt_model_load(runtime, &load, &model));
    CHECK_OK(takt_engine_create(model, &limits, &engine));
    if (c_check_failures != 0) return 1;
    null_is_fine_for_destroy();
    init();
    runtime_calls(runtime);
    load_calls(runtime, argv[1]);
    quantize_calls(runtime, argv[1]);
    model_calls(model);
    longer_structs(model);
    engine_create_calls(model);
    engine_number_options(model);
    request_options(engine);
    engine_calls(engine);
    request_calls(engine);
    transfer_calls(engine);
    session_calls(engine);
    percentile_calls();
    slo_calls();
    snapshot_calls(model, engine);
    /* Nothing of it hurt what was there. */
    CHECK(takt_engine_context_tokens(engine) == 64);
    takt_runtime_destroy(runtime);
    takt_model_destroy(model);
    CHECK_OK(takt_engine_destroy(engine));
    return c_check_failures != 0;
}
