/* Prints tokens as they come, each with the gap to the one before:  hello MODEL.gguf "Once upon a time" */
#include <stdio.h>
#include <string.h>
#include <takt/takt.h>

static int32_t on_event(void* user_data, const takt_event* event) {
    uint64_t* last_ns = user_data;
    if (event->type != TAKT_EVENT_TOKEN) return TAKT_CONTINUE;
    printf("%8.2f ms  %.*s\n", (double)(event->ready_ns - (*last_ns ? *last_ns : event->submitted_ns)) / 1e6,
           (int)event->text_bytes, event->text);
    *last_ns = event->ready_ns;
    return TAKT_CONTINUE;
}

int main(int argc, char** argv) {
    takt_runtime* runtime = NULL;
    takt_model* model = NULL;
    takt_engine* engine = NULL;
    takt_model_options load = TAKT_MODEL_OPTIONS_INIT;
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_status status;
    uint64_t last_ns = 0;
    if (argc != 3) return fprintf(stderr, "usage: hello MODEL.gguf TEXT\n"), 2;
    load.path = argv[1];
    ask.prompt = argv[2];
    ask.prompt_bytes = strlen(argv[2]);
    ask.max_tokens = 32;
    ask.on_event = on_event;
    ask.user_data = &last_ns;
    if (!(status = takt_runtime_create(NULL, &runtime)) &&
        !(status = takt_model_load(runtime, &load, &model)) &&
        !(status = takt_engine_create(model, NULL, &engine)))
        status = takt_engine_generate(engine, &ask, NULL);
    if (status) fprintf(stderr, "hello: %s\n", takt_last_error());
    takt_engine_destroy(engine), takt_model_destroy(model), takt_runtime_destroy(runtime);
    return status ? 1 : 0;
}
