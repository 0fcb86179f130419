/* Prefill in one process, decode in another: the prompt's keys and values go over a local socket.
 *
 *   handover MODEL.gguf TEXT                 both here: forks before the first call of takt
 *   handover --decode PATH MODEL.gguf        waits at the socket PATH, then answers what comes
 *   handover --prefill PATH MODEL.gguf TEXT  computes the prompt and hands it over
 *
 * The answer goes to stdout, what the move took to stderr. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <takt/takt.h>
#include <unistd.h>

enum { MAX_TOKENS = 32 };

struct stack {
    takt_runtime* runtime;
    takt_model* model;
    takt_engine* engine;
};

static void fail(const char* side) {
    fprintf(stderr, "%s: %s\n", side, takt_last_error());
}

static takt_status load(struct stack* stack, const char* path) {
    takt_model_options options = TAKT_MODEL_OPTIONS_INIT;
    takt_status status;
    options.path = path;
    if (!(status = takt_runtime_create(NULL, &stack->runtime)) &&
        !(status = takt_model_load(stack->runtime, &options, &stack->model)))
        status = takt_engine_create(stack->model, NULL, &stack->engine);
    return status;
}

static void unload(struct stack* stack) {
    takt_engine_destroy(stack->engine), takt_model_destroy(stack->model),
        takt_runtime_destroy(stack->runtime);
}

/* The two callbacks of a move. user_data: the socket. */
static int32_t send_all(void* user_data, const void* bytes, size_t n_bytes) {
    const char* next = bytes;
    while (n_bytes > 0) {
        const ssize_t n = send(*(int*)user_data, next, n_bytes, MSG_NOSIGNAL);
        if (n <= 0) return TAKT_STOP;
        next += n, n_bytes -= (size_t)n;
    }
    return TAKT_CONTINUE;
}

static int32_t receive_all(void* user_data, void* out_bytes, size_t n_bytes) {
    char* next = out_bytes;
    while (n_bytes > 0) {
        const ssize_t n = recv(*(int*)user_data, next, n_bytes, 0);
        if (n <= 0) return TAKT_STOP;
        next += n, n_bytes -= (size_t)n;
    }
    return TAKT_CONTINUE;
}

static int32_t print_text(void* user_data, const takt_event* event) {
    (void)user_data;
    fwrite(event->text, 1, event->text_bytes, stdout);
    fflush(stdout);
    return TAKT_CONTINUE;
}

static void report(const char* side, const takt_transfer* t) {
    const double tokens = t->n_computed > 0 ? t->n_computed : 1;
    fprintf(stderr, "%s: %llu bytes in %.6f s, %u tokens, %.0f bytes and %.3f us per token\n", side,
            (unsigned long long)t->transfer_bytes, (double)t->total_ns / 1e9, t->n_computed,
            (double)t->transfer_bytes / tokens, (double)t->total_ns / 1e3 / tokens);
}

/* A byte each way before the state, so that its time holds no waiting for the other side's work. */
static int meet(int peer) {
    char other;
    return send_all(&peer, "r", 1) == TAKT_CONTINUE && receive_all(&peer, &other, 1) == TAKT_CONTINUE;
}

/* Computes the prompt, keeps it, and exports it once the other side is ready. */
static int prefill(int peer, const char* path, const char* text) {
    struct stack stack = {NULL, NULL, NULL};
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_request* request = NULL;
    takt_transfer transfer = {0};
    takt_timing timing = {0};
    takt_status status;
    int nobody = 0;
    transfer.struct_size = sizeof transfer;
    timing.struct_size = sizeof timing;
    ask.prompt = text;
    ask.prompt_bytes = strlen(text);
    ask.max_tokens = 0;
    ask.keep_state = 1;
    if (!(status = load(&stack, path)) && !(status = takt_engine_submit(stack.engine, &ask, &request)) &&
        !(status = takt_request_wait(request, UINT64_MAX)) &&
        !(status = takt_request_status(request, NULL)) && !(status = takt_request_timing(request, &timing))) {
        fprintf(stderr, "prefill: %llu tokens computed in %.6f s\n", (unsigned long long)timing.prompt_tokens,
                (double)timing.prefill_ns / 1e9);
        nobody = !meet(peer);
        if (!nobody) status = takt_request_export(request, send_all, &peer, &transfer);
    }
    if (nobody)
        fprintf(stderr, "prefill: nobody decodes\n");
    else if (status)
        fail("prefill");
    else
        report("prefill, sent", &transfer);
    takt_request_destroy(request);
    unload(&stack);
    return status || nobody;
}

/* Takes the state and goes on with it. Greedy, as the options of both sides are. */
static int decode(int peer, const char* path) {
    struct stack stack = {NULL, NULL, NULL};
    takt_request_options ask = TAKT_REQUEST_OPTIONS_INIT;
    takt_request* request = NULL;
    takt_transfer transfer = {0};
    takt_status status;
    int nobody = 0;
    transfer.struct_size = sizeof transfer;
    ask.max_tokens = MAX_TOKENS;
    ask.on_event = print_text;
    if (!(status = load(&stack, path)) && !(nobody = !meet(peer)) &&
        !(status = takt_engine_import(stack.engine, receive_all, &peer, &ask, &transfer, &request)) &&
        !(status = takt_request_wait(request, UINT64_MAX)))
        status = takt_request_status(request, NULL);
    printf("\n");
    if (nobody)
        fprintf(stderr, "decode: nobody prefills\n");
    else if (status)
        fail("decode");
    else
        report("decode, received", &transfer);
    takt_request_destroy(request);
    unload(&stack);
    return status || nobody;
}

/* Listens at the path for one peer, or connects to it. -1: it failed and said so. */
static int local_socket(const char* path, int listens) {
    struct sockaddr_un address = {0};
    const int end = socket(AF_UNIX, SOCK_STREAM, 0);
    int peer = end;
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address.sun_path) return fprintf(stderr, "%s is too long a path\n", path), -1;
    strcpy(address.sun_path, path);
    if (listens) {
        if (end >= 0 && !bind(end, (struct sockaddr*)&address, sizeof address) && !listen(end, 1))
            peer = accept(end, NULL, NULL);
        else
            peer = -1;
        close(end);
        unlink(path);
    } else if (end < 0 || connect(end, (struct sockaddr*)&address, sizeof address)) {
        peer = -1;
    }
    if (peer < 0) perror(path);
    return peer;
}

/* The child decodes. */
static int both(const char* path, const char* text) {
    int ends[2], status = 1;
    pid_t child;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return perror("socketpair"), 1;
    if ((child = fork()) < 0) return perror("fork"), 1;
    if (child == 0) return close(ends[0]), decode(ends[1], path);
    close(ends[1]);
    status = prefill(ends[0], path, text);
    close(ends[0]);
    if (waitpid(child, &ends[1], 0) < 0 || ends[1] != 0) status = 1;
    return status;
}

int main(int argc, char** argv) {
    const int decodes = argc == 4 && strcmp(argv[1], "--decode") == 0;
    int peer;
    if (argc == 3) return both(argv[1], argv[2]);
    if (!decodes && (argc != 5 || strcmp(argv[1], "--prefill") != 0)) {
        return fprintf(stderr,
                       "usage: handover MODEL.gguf TEXT | --decode PATH MODEL.gguf | "
                       "--prefill PATH MODEL.gguf TEXT\n"),
               2;
    }
    peer = local_socket(argv[2], decodes);
    if (peer < 0) return 1;
    return decodes ? decode(peer, argv[3]) : prefill(peer, argv[3], argv[4]);
}
