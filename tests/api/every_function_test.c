/* Every function of takt.h once in its plain use, in C99 and through nothing but the header. argv[1]: a small
 * model. */
#include <stdio.h>
#include <stdlib.h>

#include "c_check.h"

enum { MAX_IDS = 64 };

struct seen {
    int tokens, finished, released, lines;
    uint64_t last_ready_ns;
};

static void on_log(void* user_data, int32_t level, const char* text, size_t text_bytes) {
    struct seen* seen = user_data;
    (void)text;
    CHECK(level >= TAKT_LOG_ERROR && level <= TAKT_LOG_DEBUG && text_bytes > 0);
    ++seen->lines;
}

static int32_t on_event(void* user_data, const takt_event* event) {
    struct seen* seen = user_data;
    CHECK(event->struct_size == sizeof *event);
    CHECK(event->ready_ns >= seen->last_ready_ns && event->delivered_ns >= event->ready_ns);
    seen->last_ready_ns = event->ready_ns;
    if (event->type == TAKT_EVENT_TOKEN) {
        CHECK(event->token_index == (uint32_t)seen->tokens && event->token_id >= 0);
        ++seen->tokens;
    } else {
        CHECK(event->type == TAKT_EVENT_FINISHED && event->token_id == -1 && event->status == TAKT_OK);
        ++seen->finished;
    }
    return TAKT_CONTINUE;
}

static void on_release(void* user_data) {
    ++((struct seen*)user_data)->released;
}

static int32_t on_progress(void* user_data, uint64_t done_bytes, uint64_t total_bytes) {
    CHECK(done_bytes <= total_bytes);
    ++*(int*)user_data;
    return TAKT_CONTINUE;
}

static int32_t on_logits(void* user_data, size_t position, const float* logits, size_t vocab_size) {
    size_t* next = user_data;
    CHECK(position == *next && vocab_size == 384 && logits[0] == logits[0]);
    ++*next;
    return TAKT_CONTINUE;
}

static void names(void) {
    CHECK(strcmp(takt_version(), "0.1.0") == 0);
    CHECK(strcmp(takt_last_error(), "") == 0);
    CHECK(strcmp(takt_status_name(TAKT_OK), "TAKT_OK") == 0);
    CHECK(strcmp(takt_status_name(TAKT_ERROR_FILE_NOT_FOUND), "TAKT_ERROR_FILE_NOT_FOUND") == 0);
    CHECK(strcmp(takt_status_name(-12345), "TAKT_ERROR_UNKNOWN") == 0);
    CHECK(strcmp(takt_finish_reason_name(TAKT_FINISH_NONE), "none") == 0);
    CHECK(strcmp(takt_finish_reason_name(TAKT_FINISH_STOP), "stop") == 0);
    CHECK(strcmp(takt_finish_reason_name(TAKT_FINISH_CONTEXT_FULL), "context_full") == 0);
    CHECK(strcmp(takt_finish_reason_name(99), "unknown") == 0);
}

/* takt_x_init and TAKT_X_INIT write the same. */
static void defaults(void) {
    takt_runtime_options r = TAKT_RUNTIME_OPTIONS_INIT, r2;
    takt_model_options m = TAKT_MODEL_OPTIONS_INIT, m2;
    takt_engine_options e = TAKT_ENGINE_OPTIONS_INIT, e2;
    takt_request_options q = TAKT_REQUEST_OPTIONS_INIT, q2;
    takt_slo slo = TAKT_SLO_INIT;
    CHECK(slo.struct_size == sizeof slo && (slo.ttft_ns | slo.tpot_ns | slo.itl_ns | slo.e2e_ns) == 0);
    CHECK_OK(takt_runtime_options_init(&r2, sizeof r2));
    CHECK_OK(takt_model_options_init(&m2, sizeof m2));
    CHECK_OK(takt_engine_options_init(&e2, sizeof e2));
    CHECK_OK(takt_request_options_init(&q2, sizeof q2));
    CHECK(memcmp(&r, &r2, sizeof r) == 0);
    CHECK(memcmp(&m, &m2, sizeof m) == 0);
    CHECK(memcmp(&e, &e2, sizeof e) == 0);
    CHECK(memcmp(&q, &q2, sizeof q) == 0);
}

static void backends(const takt_runtime* runtime) {
    size_t i;
    int available = 0;
    CHECK(takt_runtime_thread_count(runtime) == 2);
    CHECK(takt_runtime_now_ns(runtime) <= takt_runtime_now_ns(runtime));
    CHECK(takt_backend_count(runtime) >= 2);
    for (i = 0; i < takt_backend_count(runtime); ++i) {
        takt_backend_info info = {0};
        info.struct_size = sizeof info;
        CHECK_OK(takt_backend_get(runtime, i, &info));
        CHECK(info.struct_size == sizeof info && strlen(info.name) > 0);
        CHECK(info.available ? strlen(info.device) > 0 && strlen(info.why_not) == 0
                             : strlen(info.why_not) > 0);
        available += (int)info.available;
    }
    CHECK(available >= 1);
}

static void copy_text(void* user_data, const char* text, size_t text_bytes) {
    snprintf(user_data, 4096, "%.*s", (int)text_bytes, text);
}

static void profile(const takt_model* model) {
    static char text[4096];
    takt_profile_options options = TAKT_PROFILE_OPTIONS_INIT, same;
    CHECK_OK(takt_profile_options_init(&same, sizeof same));
    CHECK(same.n_rows == options.n_rows && same.struct_size == options.struct_size);
    CHECK_OK(takt_model_profile(model, NULL, copy_text, text));
    CHECK(strstr(text, "\"weight_bytes\":") != NULL && strstr(text, "\"parts\":") == NULL);
    options.repetitions = 1;
    options.limits = 1;
    CHECK_OK(takt_model_profile(model, &options, copy_text, text));
    CHECK(strstr(text, "\"parts\":[{") != NULL && strstr(text, "\"read_bytes_per_second\":") != NULL);
}

static int32_t on_simulated(void* user_data, size_t index, const takt_timing* timing) {
    uint64_t* last_ns = user_data;
    CHECK(timing->struct_size == sizeof *timing && strcmp(timing->backend, "simulated") == 0);
    CHECK(timing->finish_reason == TAKT_FINISH_LENGTH && timing->generated_tokens == 3);
    CHECK(timing->ttft_ns == 50 && timing->tpot_ns == 10.0 && timing->e2e_ns == 70);
    CHECK(timing->submitted_ns == (index == 0 ? 100u : 1000u) && timing->finished_ns > *last_ns);
    *last_ns = timing->finished_ns;
    return TAKT_CONTINUE;
}

static void simulation(const takt_model* model) {
    const takt_step_cost decode[1] = {{10.0, 1, 0}}, prefill[1] = {{50.0, 9, 0}};
    const takt_simulated_request requests[2] = {{100, 9, 3}, {1000, 9, 3}};
    takt_step_costs costs = TAKT_STEP_COSTS_INIT, same;
    uint64_t last_ns = 0;
    CHECK_OK(takt_step_costs_init(&same, sizeof same));
    CHECK(same.struct_size == costs.struct_size && same.decode == NULL && same.prefill_position_ns == 0.0);
    costs.decode = decode;
    costs.decode_count = 1;
    costs.prefill = prefill;
    costs.prefill_count = 1;
    CHECK_OK(takt_model_simulate(model, NULL, &costs, requests, 2, on_simulated, &last_ns));
    CHECK(last_ns == 1070);
}

static int32_t count_progress(void* user_data, uint64_t done_bytes, uint64_t total_bytes) {
    uint64_t* last = user_data;
    if (done_bytes > total_bytes) return TAKT_STOP;
    *last = done_bytes;
    return TAKT_CONTINUE;
}

static void quantization(takt_runtime* runtime, const takt_model* model, const char* model_path) {
    char output[64], matrix[64];
    int32_t ids[40];
    size_t i;
    takt_quantize_options options = TAKT_QUANTIZE_OPTIONS_INIT, same;
    takt_quantize_result result = {0};
    uint64_t last = 0;
    snprintf(output, sizeof output, "takt-quantized-%p.gguf", (void*)output);
    CHECK_OK(takt_quantize_options_init(&same, sizeof same));
    CHECK(same.struct_size == options.struct_size && same.type == NULL && same.requantize == 0);
    options.input_path = model_path;
    options.output_path = output;
    options.type = "q8_0";
    options.progress = count_progress;
    options.progress_user_data = &last;
    result.struct_size = sizeof result;
    CHECK_OK(takt_quantize(runtime, &options, &result));
    CHECK(result.output_bytes < result.input_bytes && result.n_quantized > 0 &&
          result.n_quantized < result.n_tensors);
    CHECK(last > 0);
    snprintf(matrix, sizeof matrix, "takt-importance-%p.gguf", (void*)output);
    for (i = 0; i < 40; ++i) ids[i] = (int32_t)(i * 7 + 3);
    CHECK_OK(takt_model_calibrate(model, ids, 40, 32, matrix, count_progress, &last));
    CHECK(last == 40);
    options.importance_path = matrix;
    options.type = "q5_0";
    CHECK_OK(takt_quantize(runtime, &options, NULL));
    CHECK(remove(matrix) == 0);
    CHECK(remove(output) == 0);
}

static void describe(takt_model* model) {
    takt_model_info info = {0};
    takt_memory_plan plan = {0};
    char* text;
    size_t bytes = 0, again = 0;
    info.struct_size = sizeof info;
    plan.struct_size = sizeof plan;
    CHECK_OK(takt_model_get_info(model, &info));
    CHECK(strcmp(info.family, "llama") == 0 && info.vocab_size == 384 && info.n_layers > 0 &&
          info.packed_bytes > 0);
    CHECK(info.weight_bytes > 0 && info.parameter_count > 0 && info.fingerprint != 0 && info.bos_id == 380);
    CHECK_OK(takt_model_plan(model, NULL, &plan));
    CHECK(plan.total_bytes == plan.weight_bytes + plan.kv_bytes + plan.scratch_bytes && plan.kv_bytes > 0);
    CHECK(plan.weight_bytes == info.packed_bytes);
    CHECK(plan.context_tokens > 0 && plan.max_sequences == 16 && plan.page_tokens == 32 &&
          plan.kv_tokens == 4 * (uint64_t)plan.context_tokens && plan.chunk_tokens <= plan.context_tokens);

    CHECK_OK(takt_model_inspect(model, NULL, 0, &bytes));
    text = malloc(bytes);
    CHECK_OK(takt_model_inspect(model, text, bytes, &again));
    CHECK(bytes == again && text[0] == '{' && text[bytes - 1] == '}');
    free(text);
    profile(model);
    simulation(model);
    CHECK_OK(takt_model_program(model, NULL, 0, &bytes));
    text = malloc(bytes);
    CHECK_OK(takt_model_program(model, text, bytes, &again));
    CHECK(bytes == again);
    free(text);
}

/* Returns how many ids there are. */
static size_t text_and_ids(const takt_model* model, int32_t* ids) {
    static const char kChat[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    char text[256];
    size_t count = 0, bytes = 0;
    CHECK_OK(takt_model_tokenize(model, "Hello, world!", 13, 0, ids, MAX_IDS, &count));
    CHECK(count == 10 && ids[0] == 39 && ids[9] == 0);
    CHECK_OK(takt_model_detokenize(model, ids, count, 0, text, sizeof text, &bytes));
    CHECK(bytes == 13 && memcmp(text, "Hello, world!", 13) == 0);
    CHECK_OK(takt_model_render_chat(model, kChat, strlen(kChat), 1, text, sizeof text, &bytes));
    CHECK(bytes > 2 && bytes < sizeof text);
    CHECK_OK(takt_model_tokenize(model, "Hello, world!", 13, TAKT_ADD_SPECIAL, ids, MAX_IDS, &count));
    CHECK(count == 11 && ids[0] == 380);
    return count;
}

static void blocking(takt_engine* engine, const int32_t* ids, size_t ids_count) {
    struct seen seen = {0, 0, 0, 0, 0};
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_timing timing = {0};
    size_t position = 3;
    timing.struct_size = sizeof timing;
    ask.prompt_ids = ids;
    ask.prompt_ids_count = ids_count;
    ask.max_tokens = 5;
    ask.ignore_eos = 1;
    ask.on_event = on_event;
    ask.on_release = on_release;
    ask.user_data = &seen;
    CHECK_OK(takt_engine_generate(engine, &ask, &timing));
    CHECK(seen.tokens == 5 && seen.finished == 1 && seen.released == 1);
    CHECK(timing.queue_ns + timing.prefill_ns + timing.decode_ns + timing.finish_ns == timing.e2e_ns);
    CHECK(timing.generated_tokens == 5 && timing.prompt_tokens == ids_count &&
          timing.finish_reason == TAKT_FINISH_LENGTH);
    CHECK(timing.step_gap_ns.count == 4 && timing.n_threads == 2 && strlen(timing.backend) > 0);
    CHECK(timing.submitted_ns <= timing.scheduled_ns && timing.scheduled_ns <= timing.first_token_ns &&
          timing.first_token_ns <= timing.last_token_ns && timing.last_token_ns <= timing.finished_ns);
    CHECK_OK(takt_engine_evaluate(engine, ids, ids_count, 3, 0, on_logits, &position));
    CHECK(position == ids_count);
}

static void asynchronous(takt_engine* engine) {
    struct seen seen = {0, 0, 0, 0, 0};
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_request* request = NULL;
    takt_event event = {0};
    takt_timing timing = {0};
    const char* message = NULL;
    int32_t ids[MAX_IDS];
    size_t count = 0;
    int tokens = 0;
    event.struct_size = sizeof event;
    timing.struct_size = sizeof timing;
    ask.prompt = "Hello, world!";
    ask.prompt_bytes = 13;
    ask.max_tokens = 4;
    ask.ignore_eos = 1;
    ask.on_release = on_release;
    ask.user_data = &seen;
    CHECK_OK(takt_engine_submit(engine, &ask, &request));
    do {
        CHECK_OK(takt_request_next(request, UINT64_MAX, &event));
        tokens += event.type == TAKT_EVENT_TOKEN;
    } while (event.type == TAKT_EVENT_TOKEN);
    CHECK(tokens == 4 && event.finish_reason == TAKT_FINISH_LENGTH && event.token_index == 4);
    CHECK_FAILS(TAKT_ERROR_INVALID_STATE, "finished", takt_request_next(request, 0, &event));
    CHECK_OK(takt_request_wait(request, UINT64_MAX));
    CHECK_OK(takt_request_cancel(request));
    CHECK(takt_request_status(request, &message) == TAKT_OK && message != NULL && *message == '\0');
    CHECK_OK(takt_request_timing(request, &timing));
    CHECK(timing.generated_tokens == 4 && timing.e2e_ns > 0);
    CHECK(takt_request_id(request) == event.request_id && timing.request_id == event.request_id);
    CHECK_OK(takt_request_prompt_ids(request, ids, MAX_IDS, &count));
    CHECK(count == 11 && ids[0] == 380);
    CHECK(seen.released == 0);
    takt_request_destroy(request);
    CHECK(seen.released == 1);
}

/* 400 tokens in a context of 200, of which the first 5 stay. */
static void slides(takt_engine* engine, const int32_t* ids, size_t ids_count) {
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_request* request = NULL;
    takt_event event = {0};
    takt_timing timing = {0};
    uint32_t tokens = 0;
    event.struct_size = sizeof event;
    timing.struct_size = sizeof timing;
    ask.prompt_ids = ids;
    ask.prompt_ids_count = ids_count;
    ask.max_tokens = 400;
    ask.ignore_eos = 1;
    ask.context_policy = TAKT_CONTEXT_SLIDE;
    ask.pinned_tokens = 5;
    CHECK_OK(takt_engine_submit(engine, &ask, &request));
    do {
        CHECK_OK(takt_request_next(request, UINT64_MAX, &event));
        /* The list is full with 200; then 102 stay, and 98 more fill it again. */
        if (event.type == TAKT_EVENT_TOKEN && tokens++ < 200 - ids_count) CHECK(event.n_slides == 0);
        CHECK(event.dropped_tokens == 98 * (uint64_t)event.n_slides);
    } while (event.type == TAKT_EVENT_TOKEN);
    CHECK(tokens == 400 && event.finish_reason == TAKT_FINISH_LENGTH && event.n_slides == 3);
    CHECK_OK(takt_request_timing(request, &timing));
    CHECK(timing.n_slides == 3 && timing.dropped_tokens == 294 && timing.n_preemptions == 0);
    takt_request_destroy(request);
}

/* After the two requests above: of 5 and of 4 tokens, on prompts that begin alike. */
static void statistics(const takt_engine* engine) {
    takt_engine_statistics now = {0};
    now.struct_size = sizeof now;
    CHECK_OK(takt_engine_get_statistics(engine, &now));
    CHECK(now.generated_tokens == 9 && now.n_running == 0 && now.n_waiting == 0 && now.n_preemptions == 0);
    CHECK(now.prompt_tokens_computed + now.prompt_tokens_cached == 22 && now.n_steps >= 9);
    CHECK(now.pages_in_use == 0 && now.pages_total > 0 && now.pages_cached <= now.pages_total);
    CHECK(now.page_tokens == 32 && now.max_sequences == 16 && now.page_waste > 0 && now.page_waste < 1);
}

struct bytes {
    unsigned char data[1 << 18];
    size_t size, at;
};

static int32_t keep_bytes(void* user_data, const void* bytes, size_t n_bytes) {
    struct bytes* to = user_data;
    if (n_bytes > sizeof to->data - to->size) return TAKT_STOP;
    memcpy(to->data + to->size, bytes, n_bytes);
    to->size += n_bytes;
    return TAKT_CONTINUE;
}

static int32_t give_bytes(void* user_data, void* out_bytes, size_t n_bytes) {
    struct bytes* from = user_data;
    if (n_bytes > from->size - from->at) return TAKT_STOP;
    memcpy(out_bytes, from->data + from->at, n_bytes);
    from->at += n_bytes;
    return TAKT_CONTINUE;
}

/* The ids that a request of four tokens gets; it began with as many as *out_count says. */
static void pull_four(takt_request* request, int32_t* out_ids, size_t* out_count) {
    takt_event event = {0};
    int i;
    event.struct_size = sizeof event;
    for (i = 0; i < 4; ++i) {
        CHECK_OK(takt_request_next(request, UINT64_MAX, &event));
        out_ids[i] = event.token_id;
    }
    CHECK_OK(takt_request_wait(request, UINT64_MAX));
    CHECK_OK(takt_request_prompt_ids(request, NULL, 0, out_count));
    takt_request_destroy(request);
}

/* A prompt is pinned; a fork and an import of it say the same. */
static void kept(takt_engine* engine) {
    static struct bytes state;
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_request *pin = NULL, *fork = NULL, *import = NULL;
    takt_transfer sent = {0}, received = {0};
    int32_t forked[4], imported[4];
    size_t count = 0;
    sent.struct_size = received.struct_size = sizeof sent;
    ask.prompt = "Hello, world!";
    ask.prompt_bytes = 13;
    ask.ignore_eos = 1;
    ask.max_tokens = 0;
    ask.keep_state = 1;
    CHECK_OK(takt_engine_submit(engine, &ask, &pin));
    CHECK_OK(takt_request_wait(pin, UINT64_MAX));
    ask.max_tokens = 4;
    ask.keep_state = 0;
    CHECK_OK(takt_request_fork(pin, &ask, 0, &fork));
    pull_four(fork, forked, &count);
    CHECK(count == 11);
    CHECK_OK(takt_request_export(pin, keep_bytes, &state, &sent));
    CHECK(sent.transfer_bytes == state.size && sent.n_tokens == 11 && sent.n_computed == 10);
    CHECK(sent.total_ns >= sent.callback_ns);
    takt_request_destroy(pin);
    CHECK_OK(takt_engine_import(engine, give_bytes, &state, &ask, &received, &import));
    CHECK(received.transfer_bytes == state.size && received.n_tokens == 11 && state.at == state.size);
    pull_four(import, imported, &count);
    CHECK(count == 11 && memcmp(forked, imported, sizeof forked) == 0);
}

static void session(takt_engine* engine) {
    struct seen seen = {0, 0, 0, 0, 0};
    takt_session* conversation = NULL;
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_timing first = {0}, second = {0};
    first.struct_size = second.struct_size = sizeof first;
    ask.max_tokens = 3;
    ask.ignore_eos = 1;
    ask.on_event = on_event;
    ask.on_release = on_release;
    ask.user_data = &seen;
    CHECK_OK(takt_session_create(engine, "Be brief.", 9, &conversation));
    CHECK_OK(takt_session_cancel(conversation)); /* nothing runs: no effect on what comes */
    CHECK_OK(takt_session_send(conversation, "hi", 2, &ask, &first));
    CHECK(seen.tokens == 3 && seen.finished == 1 && seen.released == 1 && first.generated_tokens == 3);
    CHECK_OK(takt_session_reset(conversation));
    seen.tokens = 0;
    CHECK_OK(takt_session_send(conversation, "hi", 2, &ask, &second));
    CHECK(second.prompt_tokens == first.prompt_tokens);
    takt_session_destroy(conversation);
}

/* The same tokens from an engine without a thread, whether it is stepped or waited for; and drafts from the
 * text. */
static void stepped(takt_model* model, takt_engine* threaded) {
    struct seen seen = {0, 0, 0, 0, 0};
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_request* request = NULL;
    takt_engine* engine = NULL;
    int32_t with_thread[4], without[4];
    size_t count = 0;
    uint32_t more = 1, n_steps = 0;
    CHECK_FAILS(TAKT_ERROR_INVALID_STATE, "thread of its own", takt_engine_step(threaded, &more));
    limits.context_tokens = 200;
    limits.step_driven = 1;
    CHECK_OK(takt_engine_create(model, &limits, &engine));
    ask.prompt = "Hello, world!";
    ask.prompt_bytes = 13;
    ask.ignore_eos = 1;
    ask.max_tokens = 4;
    CHECK_OK(takt_engine_submit(threaded, &ask, &request));
    pull_four(request, with_thread, &count);
    ask.drafts = TAKT_DRAFTS_NGRAM;
    CHECK_OK(takt_engine_submit(engine, &ask, &request));
    pull_four(request, without, &count);
    CHECK(memcmp(with_thread, without, sizeof without) == 0);
    ask.on_event = on_event;
    ask.on_release = on_release;
    ask.user_data = &seen;
    CHECK_OK(takt_engine_submit(engine, &ask, &request));
    do {
        CHECK_OK(takt_engine_step(engine, &more));
        ++n_steps;
    } while (more != 0);
    CHECK(seen.tokens == 4 && seen.finished == 1 && n_steps >= 1);
    takt_request_destroy(request);
    CHECK(seen.released == 1);
    CHECK_OK(takt_engine_destroy(engine));
}

static size_t metric_index(const char* name) {
    size_t i;
    takt_metric_info info = {0};
    for (i = 0; i < takt_metric_count(); ++i) {
        info.struct_size = sizeof info;
        CHECK_OK(takt_metric_get(i, &info));
        if (strcmp(info.name, name) == 0) return i;
    }
    CHECK(strcmp(name, "a known metric") == 0);
    return 0;
}

static takt_histogram histogram_of(const takt_snapshot* snapshot, const char* name) {
    takt_histogram histogram = {0};
    histogram.struct_size = sizeof histogram;
    CHECK_OK(takt_snapshot_histogram(snapshot, metric_index(name), &histogram));
    return histogram;
}

static void metric_names(void) {
    size_t i;
    CHECK(takt_metric_count() > 20);
    for (i = 0; i < takt_metric_count(); ++i) {
        takt_metric_info info = {0};
        info.struct_size = sizeof info;
        CHECK_OK(takt_metric_get(i, &info));
        CHECK(strlen(info.name) > 0 && strlen(info.help) > 0 && metric_index(info.name) == i);
        CHECK(strncmp(info.prometheus_name, "takt_", 5) == 0 && info.opentelemetry_name != NULL);
        CHECK(strcmp(info.unit, "ns") == 0 || strcmp(info.unit, "tokens") == 0);
        /* Prometheus' times are seconds. */
        CHECK((strstr(info.prometheus_name, "_seconds") != NULL) == (strcmp(info.unit, "ns") == 0));
    }
    CHECK(metric_index("ttft") == 0); /* an index never changes its meaning */
}

/* What three rules say of 1 to 10: metrics.md 1.4. */
static void percentile_rules(void) {
    static const double kParts[5] = {0.5, 0.75, 0.9, 0.95, 0.99};
    static const double kWanted[3][5] = {{5, 8, 9, 10, 10}, {6, 8, 10, 10, 10}, {5.5, 7.75, 9.1, 9.55, 9.91}};
    uint32_t rule;
    size_t i;
    double value = 0;
    for (rule = TAKT_PERCENTILE_NEAREST_RANK; rule <= TAKT_PERCENTILE_LINEAR; ++rule) {
        double samples[10] = {7, 2, 10, 1, 9, 4, 3, 8, 6, 5};
        for (i = 0; i < 5; ++i) {
            CHECK_OK(takt_percentile(samples, 10, kParts[i], rule, &value));
            CHECK(value > kWanted[rule][i] - 1e-12 && value < kWanted[rule][i] + 1e-12);
        }
        for (i = 0; i < 10; ++i) CHECK(samples[i] == (double)i + 1);
        CHECK_OK(takt_percentile(samples, 10, 0, rule, &value));
        CHECK(value == 1);
        CHECK_OK(takt_percentile(samples, 10, 1, rule, &value));
        CHECK(value == 10);
    }
    CHECK_OK(takt_percentile(NULL, 0, 0.5, TAKT_PERCENTILE_NEAREST_RANK, &value));
    CHECK(value != value);
}

static void slo_presets(void) {
    size_t i, known = 0;
    CHECK(takt_slo_preset_count() == 16);
    for (i = 0; i < takt_slo_preset_count(); ++i) {
        takt_slo_preset preset = {0};
        const takt_slo* slo = &preset.slo;
        preset.struct_size = sizeof preset;
        CHECK_OK(takt_slo_preset_get(i, &preset));
        CHECK(strlen(preset.name) > 0 && preset.percentile > 0.5 && preset.percentile < 1);
        CHECK(slo->struct_size == sizeof *slo &&
              (slo->ttft_ns | slo->tpot_ns | slo->itl_ns | slo->e2e_ns) != 0);
        if (strcmp(preset.name, "mlperf-llama3.1-8b-interactive") == 0)
            known += slo->ttft_ns == 500000000 && slo->tpot_ns == 30000000 && slo->itl_ns == 0;
        if (strcmp(preset.name, "guidellm-chat") == 0)
            known += slo->ttft_ns == 200000000 && slo->tpot_ns == 0 && slo->itl_ns == 50000000;
    }
    CHECK(known == 2);
}

/* A value at its bound keeps it. */
static void judge(const takt_timing* timing) {
    takt_slo slo = TAKT_SLO_INIT;
    uint32_t verdict = 9, broken = 9;
    CHECK_OK(takt_timing_judge(timing, &slo, &verdict, &broken));
    CHECK(verdict == TAKT_SLO_NOT_JUDGED && broken == 0);
    slo.e2e_ns = timing->e2e_ns;
    slo.ttft_ns = timing->ttft_ns;
    CHECK_OK(takt_timing_judge(timing, &slo, &verdict, NULL));
    CHECK(verdict == TAKT_SLO_GOOD);
    slo.e2e_ns -= 1;
    CHECK_OK(takt_timing_judge(timing, &slo, &verdict, &broken));
    CHECK(verdict == TAKT_SLO_MISSED && broken == TAKT_BOUND_E2E);
    slo.ttft_ns -= 1;
    slo.tpot_ns = 1;
    slo.itl_ns = 1;
    CHECK_OK(takt_timing_judge(timing, &slo, &verdict, &broken));
    CHECK(verdict == TAKT_SLO_MISSED &&
          broken == (TAKT_BOUND_TTFT | TAKT_BOUND_TPOT | TAKT_BOUND_ITL | TAKT_BOUND_E2E));
}

static takt_totals totals_of(const takt_snapshot* snapshot) {
    takt_totals totals = {0};
    totals.struct_size = sizeof totals;
    CHECK_OK(takt_snapshot_totals(snapshot, &totals));
    CHECK(totals.struct_size == sizeof totals && totals.begin_ns <= totals.end_ns);
    return totals;
}

/* Requests of 5, 4 and 1 tokens behind 11, one after the other. */
static void check_numbers(const takt_snapshot* snapshot, uint64_t times) {
    const takt_totals totals = totals_of(snapshot);
    takt_histogram tokens;
    double value = 0;
    uint64_t count = 0;
    CHECK(totals.finished[TAKT_FINISH_LENGTH] == 3 * times && totals.finished[TAKT_FINISH_STOP] == 0 &&
          totals.finished[TAKT_FINISH_ERROR] == 0 && totals.shed == 0);
    CHECK(totals.prompt_tokens == 33 * times && totals.prompt_tokens_computed == 33 * times &&
          totals.prompt_tokens_cached == 0);
    CHECK(totals.generated_tokens == 10 * times && totals.n_steps == 10 * times);
    CHECK(totals.n_preemptions == 0 && totals.n_slides == 0 && totals.drafted_tokens == 0);
    CHECK(totals.prefill_step_ns + totals.decode_step_ns == totals.step_ns);
    CHECK(totals.read_bytes > 0 && totals.operations > 0);
    CHECK(totals.slo_good + totals.slo_missed == 0 && totals.attainment != totals.attainment);
    CHECK(totals.requests_per_second > 0 && totals.output_tokens_per_second > 0);
    CHECK(histogram_of(snapshot, "ttft").count == 3 * times);
    CHECK(histogram_of(snapshot, "e2e").count == 3 * times);
    CHECK(histogram_of(snapshot, "tpot").count == 2 * times); /* undefined for one token */
    CHECK(histogram_of(snapshot, "itl").count == 7 * times);
    CHECK(histogram_of(snapshot, "step_gap").count == 7 * times);
    CHECK(histogram_of(snapshot, "step_gap").sum == totals.gaps.total_ns);
    CHECK(histogram_of(snapshot, "ttft_cancelled").count == 0);
    tokens = histogram_of(snapshot, "generated_tokens");
    CHECK(tokens.count == 3 * times && tokens.sum == 10 * times && tokens.lowest == 1 && tokens.highest == 5);
    CHECK(tokens.p50 == 4 && tokens.p99 == 5);
    CHECK_OK(takt_snapshot_percentile(snapshot, metric_index("generated_tokens"), 0.5,
                                      TAKT_PERCENTILE_NEAREST_RANK, &value, &count));
    CHECK(value == 4 && count == 3 * times);
    CHECK_OK(takt_snapshot_percentile(snapshot, metric_index("ttft_cancelled"), 0.5, TAKT_PERCENTILE_LINEAR,
                                      &value, NULL));
    CHECK(value != value);
}

/* Texts by the two calls that every buffer takes; the caller frees them. */
typedef takt_status (*text_call)(const takt_snapshot*, char*, size_t, size_t*);
static char* text_of(const takt_snapshot* snapshot, text_call call, size_t* out_bytes) {
    size_t bytes = 0;
    char* text;
    CHECK_OK(call(snapshot, NULL, 0, &bytes));
    text = malloc(bytes + 1);
    CHECK_OK(call(snapshot, text, bytes, out_bytes));
    CHECK(*out_bytes == bytes);
    text[bytes] = '\0';
    return text;
}

static void snapshot_texts(const takt_snapshot* snapshot) {
    takt_snapshot* again = NULL;
    size_t bytes = 0;
    unsigned char* data;
    char *json = text_of(snapshot, takt_snapshot_json, &bytes), *same;
    CHECK(json[0] == '{' && json[bytes - 1] == '}' && strstr(json, "\"engine\":\"numbers\"") != NULL);
    CHECK(strstr(json, "\"conditions\":{") != NULL && strstr(json, "nan") == NULL);
    CHECK_OK(takt_snapshot_export(snapshot, NULL, 0, &bytes));
    data = malloc(bytes);
    CHECK_OK(takt_snapshot_export(snapshot, data, bytes, &bytes));
    CHECK_OK(takt_snapshot_import(data, bytes, &again));
    free(data);
    same = text_of(again, takt_snapshot_json, &bytes);
    CHECK(strcmp(json, same) == 0);
    takt_snapshot_destroy(again);
    free(same);
    free(json);
    json = text_of(snapshot, takt_snapshot_prometheus, &bytes);
    CHECK(strstr(json, "# TYPE takt_time_to_first_token_seconds histogram\n") != NULL);
    CHECK(strstr(json, "takt_generation_tokens_total{") != NULL &&
          strstr(json, "engine=\"numbers\"") != NULL);
    CHECK(json[bytes - 1] == '\n');
    free(json);
}

static void find_in_trace(void* user_data, const char* text, size_t text_bytes) {
    int* found = user_data;
    char* copy = malloc(text_bytes + 1);
    memcpy(copy, text, text_bytes);
    copy[text_bytes] = '\0';
    CHECK(copy[0] == '{' && copy[text_bytes - 1] == '}' && strstr(copy, "\"traceEvents\":[") != NULL);
    found[0] += strstr(copy, "\"cat\":\"step\"") != NULL;
    found[1] += strstr(copy, "request 3") != NULL;
    free(copy);
}

/* An engine of its own, so that every number is known. */
static void numbers(takt_model* model, const takt_engine* without_trace, const int32_t* ids, size_t count) {
    static const uint32_t kTokens[3] = {5, 4, 1};
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_timing timing = {0};
    takt_engine* engine = NULL;
    takt_snapshot *before = NULL, *after = NULL, *between = NULL, *both = NULL;
    takt_totals totals;
    int i, found[2] = {0, 0};
    timing.struct_size = sizeof timing;
    limits.context_tokens = 64;
    limits.no_prefix_reuse = 1;
    limits.trace_steps = 64;
    limits.name = "numbers";
    CHECK_OK(takt_engine_create(model, &limits, &engine));
    CHECK_OK(takt_engine_snapshot(engine, &before));
    totals = totals_of(before);
    CHECK(totals.n_steps == 0 && totals.generated_tokens == 0 && totals.finished[TAKT_FINISH_LENGTH] == 0);
    ask.prompt_ids = ids;
    ask.prompt_ids_count = count;
    ask.ignore_eos = 1;
    for (i = 0; i < 3; ++i) {
        ask.max_tokens = kTokens[i];
        CHECK_OK(takt_engine_generate(engine, &ask, &timing));
        CHECK(timing.request_id == (uint64_t)i + 1 && timing.slo_verdict == TAKT_SLO_NOT_JUDGED);
        if (i == 0) judge(&timing);
    }
    CHECK_OK(takt_engine_snapshot(engine, &after));
    CHECK_OK(takt_engine_trace(engine, find_in_trace, found));
    CHECK(found[0] == 1 && found[1] == 1);
    CHECK_OK(takt_engine_trace(without_trace, find_in_trace, found));
    CHECK(found[0] == 1 && found[1] == 1);
    CHECK_OK(takt_engine_destroy(engine));
    check_numbers(after, 1);
    CHECK_OK(takt_snapshot_difference(after, before, &between));
    check_numbers(between, 1);
    CHECK(totals_of(between).begin_ns == totals.end_ns);
    takt_snapshot_destroy(before);
    CHECK_OK(takt_snapshot_merge(between, after, &both));
    check_numbers(both, 2);
    CHECK(totals_of(both).begin_ns == totals_of(after).begin_ns); /* the longer window */
    snapshot_texts(after);
    takt_snapshot_destroy(between);
    takt_snapshot_destroy(after);
    CHECK(totals_of(both).generated_tokens == 20);
    takt_snapshot_destroy(both);
}

static void on_step(void* user_data, const takt_step* step) {
    uint64_t* n_steps = user_data;
    CHECK(step->struct_size == sizeof *step && step->index == *n_steps);
    CHECK(step->begin_ns <= step->end_ns && step->decode_rows + step->prefill_rows > 0);
    CHECK((step->gap_ns == TAKT_UNDEFINED_NS) == (step->index == 0));
    ++*n_steps;
}

int main(int argc, char** argv) {
    uint64_t n_steps = 0;
    struct seen seen = {0, 0, 0, 0, 0};
    takt_runtime_options how = TAKT_RUNTIME_OPTIONS_INIT;
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    takt_engine_options limits = TAKT_ENGINE_OPTIONS_INIT;
    takt_runtime* runtime = NULL;
    takt_model* model = NULL;
    takt_engine* engine = NULL;
    int32_t ids[MAX_IDS];
    size_t count;
    int progress = 0;
    if (argc != 2) return 2;
    names();
    defaults();
    how.n_threads = 2;
    how.log = on_log;
    how.log_user_data = &seen;
    how.log_level = TAKT_LOG_DEBUG;
    CHECK_OK(takt_runtime_create(&how, &runtime));
    load.path = argv[1];
    load.progress = on_progress;
    load.progress_user_data = &progress;
    CHECK_OK(takt_model_load(runtime, &load, &model));
    limits.context_tokens = 200;
    limits.on_step = on_step;
    limits.step_user_data = &n_steps;
    CHECK_OK(takt_engine_create(model, &limits, &engine));
    if (c_check_failures != 0) return 1;
    CHECK(progress > 0);
    CHECK(takt_engine_context_tokens(engine) == 200);
    CHECK_OK(takt_runtime_set_threads(runtime, 1, 2));
    CHECK_OK(takt_runtime_set_threads(runtime, 0, 0));
    backends(runtime);
    describe(model);
    quantization(runtime, model, argv[1]);
    count = text_and_ids(model, ids);
    blocking(engine, ids, count);
    asynchronous(engine);
    statistics(engine);
    slides(engine, ids, count);
    kept(engine);
    session(engine);
    stepped(model, engine);
    metric_names();
    percentile_rules();
    slo_presets();
    numbers(model, engine, ids, count);
    CHECK_OK(takt_engine_destroy(engine));
    CHECK(n_steps > 10);
    takt_model_destroy(model);
    takt_runtime_destroy(runtime);
    return c_check_failures != 0;
}
