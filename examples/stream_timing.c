/* Two requests at once, events pulled, then where each one's time went:  stream_timing MODEL.gguf TEXT TEXT
 */
#include <stdio.h>
#include <string.h>
#include <takt/takt.h>

enum { N_REQUESTS = 2 };

static double ms(uint64_t ns) {
    return (double)ns / 1e6;
}

/* Takes one event if there is one within a millisecond. Returns 1 once the request has ended, -1 on an error.
 */
static int pull(takt_request* request, int number) {
    takt_event event = {0};
    takt_status status;
    event.struct_size = sizeof event;
    status = takt_request_next(request, 1000000, &event);
    if (status == TAKT_ERROR_TIMED_OUT) return 0;
    if (status) return -1;
    if (event.type == TAKT_EVENT_FINISHED) {
        printf("[%d] ended: %s %.*s\n", number, takt_finish_reason_name(event.finish_reason),
               (int)event.message_bytes, event.message);
        return 1;
    }
    printf("[%d] step of %u rows, computed in %.2f ms, delivered %.3f ms after sampling: %.*s\n", number,
           event.step_rows, ms(event.compute_ns), ms(event.delivered_ns - event.ready_ns),
           (int)event.text_bytes, event.text);
    return 0;
}

static takt_status print_times(takt_request* request, int number) {
    takt_timing t = {0};
    takt_status status;
    t.struct_size = sizeof t;
    status = takt_request_timing(request, &t);
    if (status) return status;
    printf("[%d] queue %.2f + prefill %.2f + decode %.2f + finish %.2f = %.2f ms", number, ms(t.queue_ns),
           ms(t.prefill_ns), ms(t.decode_ns), ms(t.finish_ns), ms(t.e2e_ns));
    if (t.step_gap_ns.count > 0)
        printf("; step gap p50 %.2f, p99 %.2f ms", t.step_gap_ns.p50 / 1e6, t.step_gap_ns.p99 / 1e6);
    printf("\n");
    return TAKT_OK;
}

static takt_status stream(takt_engine* engine, char** texts) {
    takt_request* requests[N_REQUESTS] = {NULL, NULL};
    int ended[N_REQUESTS] = {0, 0}, i, left = N_REQUESTS;
    takt_status status = TAKT_OK;
    for (i = 0; i < N_REQUESTS && !status; ++i) {
        takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
        ask.prompt = texts[i];
        ask.prompt_bytes = strlen(texts[i]);
        ask.max_tokens = 16;
        status = takt_engine_submit(engine, &ask, &requests[i]);
    }
    while (!status && left > 0) {
        for (i = 0; i < N_REQUESTS; ++i) {
            if (ended[i]) continue;
            ended[i] = pull(requests[i], i);
            if (ended[i] < 0) status = TAKT_ERROR_INTERNAL;
            if (ended[i]) --left;
        }
    }
    for (i = 0; i < N_REQUESTS && !status; ++i) status = print_times(requests[i], i);
    for (i = 0; i < N_REQUESTS; ++i) takt_request_destroy(requests[i]);
    return status;
}

int main(int argc, char** argv) {
    takt_runtime* runtime = NULL;
    takt_model* model = NULL;
    takt_engine* engine = NULL;
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    takt_status status;
    if (argc != 2 + N_REQUESTS) {
        fprintf(stderr, "usage: stream_timing MODEL.gguf TEXT TEXT\n");
        return 2;
    }
    load.path = argv[1];
    status = takt_runtime_create(NULL, &runtime);
    if (!status) status = takt_model_load(runtime, &load, &model);
    if (!status) status = takt_engine_create(model, NULL, &engine);
    if (!status) status = stream(engine, argv + 2);
    if (status) fprintf(stderr, "stream_timing: %s\n", takt_last_error());
    takt_engine_destroy(engine);
    takt_model_destroy(model);
    takt_runtime_destroy(runtime);
    return status ? 1 : 0;
}
