/* takt: runs quantized large language models inside your program and keeps time for every token.
 *
 * Promise
 *   Nothing here prints, exits, aborts, installs a handler, changes the environment, opens a socket or throws. Every
 *   failure is a status and a sentence that names the thing and the value. Two runtimes can live in one process.
 *   The same seed gives the same tokens, bit for bit the same logits behind them, however a request is computed: alone or
 *   in a batch, in any chunks, from cached or forked pages, after it gave its pages away, imported, with drafts or without,
 *   on any number of threads. On the cpu backend that holds for quantized and float32 weights, across the instruction sets
 *   of x86-64 too; for float16 and bfloat16 weights with takt_engine_options.deterministic. It is not promised between
 *   backends, between x86-64 and 64-bit Arm, or between kv_types.
 *   Struct sizes, field offsets and constant values never change; fields are only appended.
 *
 * Vocabulary
 *   runtime    backends, worker threads, clock and log sink; the root of everything
 *   model      one GGUF file: metadata, tokenizer, chat template, weights; immutable, shared
 *   engine     runs requests on a model: scheduler, pages of keys and values, one worker thread
 *   request    one generation: prompt in, token events out, with its own times
 *   session    a conversation, as a thin convenience over requests
 *   prefill    the prompt through the model, in chunks          decode   one more token per step
 *   step       one run of the backend over rows of one or more requests
 *   snapshot   what an engine did up to a moment: counters and histograms; or between two moments, or of several engines
 *   SLO        a promise: bounds on a request's times
 *   context    the positions a request may use: prompt and generated tokens together
 *
 * Threading words: "thread-safe": any thread, at any time. "One thread at a time": calls on the same handle must not
 *   overlap. "Callback thread": where a callback runs. Ownership words: "owned by the caller", "borrowed until …",
 *   "copied". Handles may be destroyed in any order; destroying NULL is fine. What a handle needs stays alive behind it.
 * fork: a child has none of takt's threads. There handles may be destroyed and a new runtime made; calls that load, compute
 *   or wait on what was made before return TAKT_ERROR_INVALID_STATE.
 * Structs: call takt_<x>_init(&x, sizeof x) (or start from TAKT_<X>_INIT), then set fields; 0 means 0. A struct that the
 *   library fills wants its struct_size set first; min(struct_size, the library's own) bytes are read and written.
 * Text is UTF-8 with a length in bytes beside it; it may hold zero bytes. Times are uint64_t nanoseconds on the runtime's
 *   clock. Functions that fill a buffer write the needed size to out_…; if the buffer is smaller they write nothing else
 *   and return TAKT_ERROR_BUFFER_TOO_SMALL; NULL with capacity 0 asks for the size and is TAKT_OK.
 */
#ifndef TAKT_TAKT_H
#define TAKT_TAKT_H

#include <stddef.h>
#include <stdint.h>

#if defined(TAKT_BUILD) && (defined(__GNUC__) || defined(__clang__))
#define TAKT_API __attribute__((visibility("default")))
#else
#define TAKT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TAKT_VERSION_MAJOR 0
#define TAKT_VERSION_MINOR 1
#define TAKT_VERSION_PATCH 0

/* ---- Status codes. A value never changes its meaning; new ones fill the gaps. ---------------------------------- */

typedef int32_t takt_status;
enum {
    TAKT_OK                          = 0,
    TAKT_ERROR_INVALID_ARGUMENT      = -1,   /* -1 …   the call                                                      */
    TAKT_ERROR_INVALID_STATE         = -2,   /* right call, wrong moment: inside a callback, after the end           */
    TAKT_ERROR_NOT_FOUND             = -3,   /* a named backend, ISA level or device that isn't there                */
    TAKT_ERROR_CANCELLED             = -4,   /* a load or an evaluation was asked to stop; a request's end says it   */
    TAKT_ERROR_TIMED_OUT             = -5,   /* a wait ended before an event came                                    */
    TAKT_ERROR_PROMPT_TOO_LONG       = -6,   /* the sentence holds need and have                                     */
    TAKT_ERROR_PROMPT_EMPTY          = -7,
    TAKT_ERROR_BUFFER_TOO_SMALL      = -8,   /* the needed size is in the out parameter                              */
    TAKT_ERROR_UNSUPPORTED           = -9,   /* known, but not in this build                                         */
    TAKT_ERROR_QUEUE_FULL            = -10,  /* the engine holds as many waiting requests as it may                  */
    TAKT_ERROR_FILE_NOT_FOUND        = -100, /* -100 … the file                                                      */
    TAKT_ERROR_FILE_IO               = -101,
    TAKT_ERROR_FILE_TRUNCATED        = -102,
    TAKT_ERROR_FILE_INVALID          = -103, /* not GGUF, or a field that contradicts the format                     */
    TAKT_ERROR_FILE_UNSUPPORTED      = -104, /* GGUF of a version, byte order or tensor type that takt doesn't read  */
    TAKT_ERROR_STATE_CORRUPT         = -105, /* an exported state that is cut, changed or none at all                */
    TAKT_ERROR_STATE_MISMATCH        = -106, /* one of another model, type of keys and values, or version            */
    TAKT_ERROR_MODEL_UNSUPPORTED     = -200, /* -200 … the model: a family or op that takt doesn't run               */
    TAKT_ERROR_MODEL_INVALID         = -201, /* hyperparameters or tensors that contradict each other                */
    TAKT_ERROR_TOKENIZER_INVALID     = -202,
    TAKT_ERROR_TEMPLATE_MISSING      = -203, /* the file has no chat template                                        */
    TAKT_ERROR_TEMPLATE              = -204, /* the template failed; line and column are in the sentence             */
    TAKT_ERROR_LOGITS_NOT_FINITE     = -205, /* NaN or infinity came out of the model                                */
    TAKT_ERROR_NO_TOKEN_ALLOWED      = -206, /* logit bias leaves nothing to sample                                  */
    TAKT_ERROR_OUT_OF_MEMORY         = -300, /* -300 … the device                                                    */
    TAKT_ERROR_DEVICE_FAILED         = -301,
    TAKT_ERROR_INTERNAL              = -900  /* a fault of takt itself; please report the sentence                   */
};

/* ---- Handles: opaque; only the library knows their size. ------------------------------------------------------- */

typedef struct takt_runtime takt_runtime;
typedef struct takt_model takt_model;
typedef struct takt_engine takt_engine;
typedef struct takt_request takt_request;
typedef struct takt_session takt_session;
typedef struct takt_snapshot takt_snapshot;

/* ---- Constants -------------------------------------------------------------------------------------------------- */

enum { TAKT_CONTINUE = 0, TAKT_STOP = 1 };                       /* what a callback returns; anything but 0 stops   */
/* Keys and values: float16 (the choice of the cpu backend); 8 bits with one float16 scale for 32 dimensions, about half the
 * bytes, for heads of a multiple of 32 dimensions; float32 (the choice of the reference backend). */
enum { TAKT_KV_DEFAULT = 0, TAKT_KV_F16 = 1, TAKT_KV_Q8_0 = 2, TAKT_KV_F32 = 3 };
enum { TAKT_LOG_ERROR = 0, TAKT_LOG_WARNING = 1, TAKT_LOG_INFO = 2, TAKT_LOG_DEBUG = 3 };
enum { TAKT_EVENT_TOKEN = 1, TAKT_EVENT_FINISHED = 2 };
/* When a request's context is full: it ends with TAKT_FINISH_CONTEXT_FULL and a message with need and have; or the first
 * pinned_tokens and the newest half of the rest stay, are computed anew, exactly as a prompt of these tokens would be, and
 * it goes on. Draws keep counting all tokens that ever were. Events and timing tell n_slides and dropped_tokens. */
enum { TAKT_CONTEXT_STOP = 0, TAKT_CONTEXT_SLIDE = 1 };
enum {                                                           /* why a request ended                             */
    TAKT_FINISH_NONE = 0,                                        /* it hasn't                                       */
    TAKT_FINISH_STOP = 1,                                        /* end-of-generation token, stop token or string   */
    TAKT_FINISH_LENGTH = 2,                                      /* max_tokens reached                              */
    TAKT_FINISH_CANCELLED = 3,
    TAKT_FINISH_CONTEXT_FULL = 4,
    TAKT_FINISH_DEADLINE = 5,
    TAKT_FINISH_ERROR = 6                                        /* the request's status says which                 */
};
enum {                                                           /* flags for tokenizing                            */
    TAKT_ADD_SPECIAL = 1,                                        /* BOS and EOS as the file says                    */
    TAKT_PARSE_SPECIAL = 2                                       /* control tokens written in the text become ids   */
};
/* Where a request's drafts come from: guesses at its next tokens, verified several in one step. They change when tokens
 * come, never which. */
enum {
    TAKT_DRAFTS_DEFAULT = 0,                                     /* the engine's draft model, if it has one         */
    TAKT_DRAFTS_NONE    = 1,
    TAKT_DRAFTS_NGRAM   = 2,                                     /* what followed the same tokens earlier in this text */
    TAKT_DRAFTS_MODEL   = 3
};
/* When a draft is accepted. The classic rule of speculative sampling keeps the distribution, but which tokens come depends on
 * the drafts, so the promise of equal tokens doesn't hold; takes 64 bytes for each token of the vocabulary. */
enum { TAKT_DRAFT_RULE_MATCH = 0,                                /* while it is what the model samples itself      */
       TAKT_DRAFT_RULE_REJECTION = 1 };                          /* with the ratio of the two models' probabilities */
enum { TAKT_MAX_DRAFTS = 15 };                                   /* of one request in one step                     */
/* Bounds of a takt_slo, as bits. */
enum { TAKT_BOUND_TTFT = 1, TAKT_BOUND_TPOT = 2, TAKT_BOUND_ITL = 4, TAKT_BOUND_E2E = 8 };
enum {                                                           /* whether a request kept its bounds               */
    TAKT_SLO_NOT_JUDGED = 0,                                     /* it has none, runs, or went away in time         */
    TAKT_SLO_GOOD = 1,
    TAKT_SLO_MISSED = 2
};
enum {                                                           /* of n sorted samples x, from x[0]                */
    TAKT_PERCENTILE_NEAREST_RANK = 0,                            /* x[ceil(n p) - 1]                                */
    TAKT_PERCENTILE_LOADGEN = 1,                                 /* x[floor(n p)], as MLPerf's LoadGen has it       */
    TAKT_PERCENTILE_LINEAR = 2                                   /* on a line through x[floor((n - 1) p)] and the next */
};
enum { TAKT_ORIGIN_ARRIVAL = 0, TAKT_ORIGIN_FIRST_TOKEN = 1 };   /* from when on tokens are due (smooth goodput)    */
#define TAKT_NO_STEP_GAP UINT64_MAX                              /* takt_engine_options.step_gap_ns                */
#define TAKT_UNDEFINED_NS UINT64_MAX                             /* a time that doesn't exist; doubles use NaN      */

/* ---- Callbacks -------------------------------------------------------------------------------------------------- */

typedef struct takt_event takt_event;
typedef struct takt_step takt_step;
typedef struct takt_slo_miss takt_slo_miss;
typedef struct takt_timing takt_timing;
/* Callback thread: any thread of the runtime or of a caller, one line at a time. text is borrowed until it returns. Inside
 * it calls that load, wait or destroy an engine return TAKT_ERROR_INVALID_STATE, and what takt would log is dropped. */
typedef void (*takt_log_callback)(void *user_data, int32_t level, const char *text, size_t text_bytes);
/* Nanoseconds that never go back; called from any thread. Must not call takt. */
typedef uint64_t (*takt_clock_callback)(void *user_data);
/* Bytes of weights read and in all. Callback thread: the one that loads, while the runtime's engines wait: calls that load,
 * wait or destroy an engine return TAKT_ERROR_INVALID_STATE. Anything but TAKT_CONTINUE ends the load. */
typedef int32_t (*takt_progress_callback)(void *user_data, uint64_t done_bytes, uint64_t total_bytes);
/* One event of a request; borrowed until it returns. Callback thread: the one that runs the step (asynchronous
 * requests) or the caller's (blocking calls), never two at once for one request. Inside it the clock, cancel, submit, fork
 * and timing functions are allowed; calls that wait or destroy an engine return TAKT_ERROR_INVALID_STATE. Returning anything
 * but TAKT_CONTINUE cancels the request; a C++ exception ends it with TAKT_ERROR_INTERNAL. */
typedef int32_t (*takt_event_callback)(void *user_data, const takt_event *event);
/* Runs exactly once, after the last callback of the request: user_data may be freed. Callback thread: the one that destroys
 * the request; of a request destroyed in its own callback the engine's, where the same calls are refused as there. */
typedef void (*takt_release_callback)(void *user_data);
/* One step of an engine, after its tokens were told; borrowed until it returns. Callback thread: the one that runs the
 * steps, which wait meanwhile; the same calls are allowed and refused as in takt_event_callback. A C++ exception ends the
 * calls and is a line in the log. */
typedef void (*takt_step_callback)(void *user_data, const takt_step *step);
/* A bound of a request was broken just now, once a request and bound; borrowed until it returns. Callback thread and rules:
 * those of takt_step_callback. TTFT and E2E are told when their time is over, between two steps at the latest, though the
 * token is still to come; ITL with the token that was late; TPOT at the end, or as soon as max_tokens can't mend it. */
typedef void (*takt_slo_callback)(void *user_data, const takt_slo_miss *miss);
/* A text that is borrowed until it returns; no trailing zero. */
typedef void (*takt_text_callback)(void *user_data, const char *text, size_t text_bytes);
/* The scores of one position; logits are borrowed until it returns. Anything but TAKT_CONTINUE stops. */
typedef int32_t (*takt_logits_callback)(void *user_data, size_t position, const float *logits, size_t vocab_size);
/* The end of a simulated request; timing is borrowed until it returns. Callback thread: the one that simulates. Anything but
 * TAKT_CONTINUE ends the simulation with TAKT_ERROR_CANCELLED; a C++ exception with TAKT_ERROR_INTERNAL. */
typedef int32_t (*takt_simulation_callback)(void *user_data, size_t index, const takt_timing *timing);
/* Takes all n_bytes of an exported state, borrowed until it returns, or fills all of them. Callback thread: the one that
 * exports or imports; the engine goes on meanwhile, so it may be as slow as a socket is. Calls that wait or destroy an
 * engine return TAKT_ERROR_INVALID_STATE. Anything but TAKT_CONTINUE ends the transfer with TAKT_ERROR_CANCELLED or, on import,
 * TAKT_ERROR_STATE_CORRUPT; a C++ exception with TAKT_ERROR_INTERNAL. */
typedef int32_t (*takt_write_callback)(void *user_data, const void *bytes, size_t n_bytes);
typedef int32_t (*takt_read_callback)(void *user_data, void *out_bytes, size_t n_bytes);

/* ---- Option structs ---------------------------------------------------------------------------------------------- */

typedef struct takt_runtime_options {
    size_t              struct_size;
    takt_log_callback   log;              /* NULL: what takt has to say is dropped                                  */
    void               *log_user_data;
    takt_clock_callback clock;            /* NULL: the system's monotonic clock                                     */
    void               *clock_user_data;
    const char         *isa_cap;          /* NULL, or the highest ISA level to use: "scalar", "avx2", "avx512", …   */
    uint32_t            n_threads;        /* with the thread that runs the step; 0: physical cores within affinity and quota */
    int32_t             log_level;        /* TAKT_LOG_…: lines above it are not made                                */
} takt_runtime_options;

/* Exactly one source: path, or descriptor (>= 0), or memory. */
typedef struct takt_model_options {
    size_t                 struct_size;
    const char            *path;             /* UTF-8, zero-terminated; of a split model its first part           */
    const void            *memory;           /* borrowed until the model and everything made from it is destroyed   */
    size_t                 memory_bytes;
    uint64_t               descriptor_offset;/* first byte of the GGUF file within the descriptor                   */
    uint64_t               descriptor_length;/* 0: to the end                                                       */
    const char            *backend;          /* whose form the weights are brought into; NULL: the best one         */
    takt_progress_callback progress;
    void                  *progress_user_data;
    int32_t                descriptor;       /* -1: none. Duplicated; yours stays yours                             */
    uint32_t               metadata_only;    /* 1: weights are left for the first engine to load                    */
    const char            *packed_cache_dir; /* NULL: none. A folder where the packed weights of a model from a file are
                                              * kept, so that the next load maps them instead of packing. Made if missing.
                                              * Only ever saves time: a file there that is stale or damaged, or one that
                                              * can't be written, costs a line in the log. Nobody else may write there: a
                                              * mapped file that is cut short in place raises SIGBUS                 */
} takt_model_options;

/* Bounds in ns; 0: none. A value at its bound keeps it; one that isn't defined (TPOT of one token) keeps it too. ITL binds
 * every token. */
typedef struct takt_slo {
    size_t   struct_size;
    uint64_t ttft_ns;
    uint64_t tpot_ns;
    uint64_t itl_ns;
    uint64_t e2e_ns;
} takt_slo;

typedef struct takt_engine_options {
    size_t      struct_size;
    const char *backend;             /* NULL: the one the model was loaded for                                      */
    uint32_t    context_tokens;      /* positions of one request; 0: the smaller of 4096 and the model's            */
    uint32_t    max_sequences;       /* requests that run at once; 0: 16. More wait in the queue                    */
    uint32_t    max_waiting;         /* requests that may wait; 0: 4096. Beyond it TAKT_ERROR_QUEUE_FULL            */
    uint32_t    chunk_tokens;        /* rows of one step, so the largest piece of a prefill; 0: 512                 */
    uint64_t    kv_tokens;           /* positions of all requests together; 0: context_tokens * min(max_sequences, 4) */
    uint32_t    deterministic;       /* 1: no path whose row depends on its neighbours                              */
    uint32_t    kv_type;             /* TAKT_KV_…: how keys and values are stored; 0: the backend's choice          */
    uint64_t    step_gap_ns;         /* what a step of running requests should take at most while prompts join: their rows
                                        are as many as fit in; 0: 1.5 times the median of the last 32 steps without
                                        prompts; TAKT_NO_STEP_GAP: chunk_tokens, however long they take             */
    uint32_t    no_prefix_reuse;     /* 1: every prompt is computed anew. 0: full pages that an earlier prompt or answer
                                        began with are shared, until their room is wanted; tokens are the same either
                                        way                                                                         */
    uint32_t    page_tokens;         /* positions in a page of keys and values: a power of two from 16 to 4096; 0: 32.
                                        Tokens are the same with any. Smaller pages waste less at the end of a sequence
                                        and are shared sooner, larger ones cost less to keep account of             */
    uint64_t    memory_limit_bytes;  /* of backend buffers, weights included; 0: none. Where the defaults take more,
                                        fields that are 0 become less, each as far as it must, in this order: kv_tokens
                                        to context_tokens; context_tokens to 2048, chunk_tokens to 128, max_sequences
                                        to 4; the same three to 256, 16 and 1. What you set stays; where nothing helps
                                        it is TAKT_ERROR_OUT_OF_MEMORY with need and have. takt_model_plan() tells   */
    takt_step_callback on_step;      /* NULL: none                                                                  */
    void       *step_user_data;      /* must live until takt_engine_destroy() returned                              */
    const takt_model *draft_model;   /* NULL, or a small model of the same vocabulary that drafts for requests; stays alive
                                        behind the engine. Has pages of its own, for as many positions              */
    uint32_t    step_driven;         /* 1: the engine has no thread of its own: takt_engine_step() and calls that wait do its
                                        work on their thread, which is one of the runtime's n_threads              */
    uint32_t    reserved;            /* 0                                                                            */
    const char *name;                /* NULL: its number among the runtime's engines. The label of its numbers; copied */
    const takt_slo *slo;             /* NULL: none. Of requests without one of their own; copied                     */
    takt_slo_callback on_slo_miss;   /* NULL: none                                                                  */
    void       *slo_user_data;       /* must live until takt_engine_destroy() returned                              */
    double      smooth_seconds_per_token; /* smooth goodput: a token is due every so often; 0: 0.2                  */
    double      smooth_alpha;        /* and a request earns its tokens less so many for each second that its latest
                                        token was late; 0: 2.5                                                      */
    uint32_t    smooth_origin;       /* TAKT_ORIGIN_…                                                               */
    uint32_t    trace_steps;         /* steps that are remembered for takt_engine_trace(), up to 1048576; 0: none    */
} takt_engine_options;

/* Sampling, in this order: logit bias, penalties, then temperature 0: the highest logit (lowest id on a tie); otherwise
 * top-k, top-p, min-p, temperature, and a draw with the number of (seed, position). */
typedef struct takt_request_options {
    size_t                struct_size;
    const char           *prompt;             /* text, copied; or prompt_ids                                       */
    size_t                prompt_bytes;
    const int32_t        *prompt_ids;         /* copied; nothing is added to them                                  */
    size_t                prompt_ids_count;
    const char *const    *stop_strings;       /* copied; zero-terminated, UTF-8, not empty. Never emitted, not even in part */
    size_t                stop_strings_count;
    const int32_t        *stop_ids;           /* copied; end the generation as an end-of-generation token does     */
    size_t                stop_ids_count;
    const int32_t        *logit_bias_ids;     /* copied; logit_bias_values[i] is added to the logit of id i; -INFINITY forbids */
    const float          *logit_bias_values;
    size_t                logit_bias_count;
    takt_event_callback   on_event;           /* NULL: events of an asynchronous request are pulled                */
    takt_release_callback on_release;
    void                 *user_data;
    uint64_t              seed;               /* every value is a seed; the same one gives the same tokens         */
    uint64_t              deadline_ns;        /* on takt_runtime_now_ns(); 0: none                                 */
    uint32_t              prompt_flags;       /* TAKT_ADD_SPECIAL | TAKT_PARSE_SPECIAL, for a text prompt          */
    uint32_t              max_tokens;         /* generated tokens at most; 0 generates none                        */
    float                 temperature;        /* 0: greedy                                                         */
    uint32_t              top_k;              /* 0: off                                                            */
    float                 top_p;              /* 1: off                                                            */
    float                 min_p;              /* 0: off                                                            */
    float                 repetition_penalty; /* 1: off                                                            */
    float                 frequency_penalty;  /* 0: off                                                            */
    float                 presence_penalty;   /* 0: off                                                            */
    uint32_t              penalty_tokens;     /* the last tokens, prompt included, that penalties look at          */
    uint32_t              ignore_eos;         /* 1: end-of-generation tokens don't end it                          */
    int32_t               priority;           /* higher ones are admitted first, and give their pages to others last;
                                                 equal ones in the order of their coming. Default 0               */
    uint32_t              keep_state;         /* 1: its keys and values stay when it ends, but for an error, until its
                                                 handle is destroyed: for takt_request_fork and _export, and for
                                                 prompts that begin alike. With max_tokens 0 the prompt is computed
                                                 and kept. What is kept can't serve others: a request for which it
                                                 leaves no room ends with TAKT_ERROR_OUT_OF_MEMORY                */
    uint32_t              drafts;             /* TAKT_DRAFTS_…                                                     */
    uint32_t              max_drafts;         /* in a step, up to TAKT_MAX_DRAFTS; 0: that. Fewer are made where rows cost
                                                 more than accepted drafts save                                   */
    uint32_t              context_policy;     /* TAKT_CONTEXT_…                                                    */
    uint32_t              pinned_tokens;      /* at the start of the context, that a slide leaves; for a context that
                                                 slides, max_tokens is 1048576 at most                             */
    uint32_t              draft_rule;         /* TAKT_DRAFT_RULE_…                                                 */
    const takt_slo       *slo;                /* NULL: the engine's; copied                                        */
    uint32_t              turn;               /* of its conversation, for statistics; 0 and 1: the first. A session counts
                                                 itself                                                            */
    uint32_t              reserved;           /* 0                                                                 */
} takt_request_options;

/* ---- What the library fills -------------------------------------------------------------------------------------- */

/* What the time between two steps' tokens of a request was spent on; the parts add up to total_ns, to the nanosecond. A step
 * with prompts is taken as what its decode rows cost alone, as measured, and the prompt rows on top, which cost the same
 * each. */
typedef struct takt_gap {
    uint64_t total_ns;
    uint64_t own_compute_ns;    /* its own rows and drafts                                                          */
    uint64_t other_prefill_ns;  /* rows of other requests' prompts, and evaluations                                 */
    uint64_t other_decode_ns;   /* rows of other requests that generate, and their drafts                           */
    uint64_t page_wait_ns;      /* it had given its pages away                                                      */
    uint64_t callback_ns;       /* callbacks on the thread that steps                                               */
    uint64_t other_engines_ns;  /* turns of the runtime's other engines                                             */
    uint64_t scheduler_ns;      /* the rest: building steps, sampling, what callers do between steps                */
    uint64_t stalled_by_id;     /* the request whose prompt took most of other_prefill_ns in one gap; 0: none       */
    uint64_t stalled_by_ns;
} takt_gap;

/* One token, or the end of a request. */
struct takt_event {
    size_t      struct_size;    /* bytes filled by the library                                                      */
    const char *text;           /* token: text that became complete; finished: what was still held back. Borrowed until
                                   the callback returns or the next takt_request_next(); no trailing zero          */
    size_t      text_bytes;     /* 0 while a character, or what may become a stop string, is incomplete            */
    const char *message;        /* finished: the sentence of status, or why the context is full; borrowed like text */
    size_t      message_bytes;
    int32_t     type;           /* TAKT_EVENT_…                                                                    */
    int32_t     token_id;       /* token only, else -1                                                             */
    uint32_t    token_index;    /* 0 is the first generated token; finished: how many there were                   */
    int32_t     finish_reason;  /* TAKT_FINISH_…                                                                   */
    takt_status status;         /* finished: TAKT_OK unless finish_reason is TAKT_FINISH_ERROR                     */
    uint32_t    step_rows;      /* rows of the step behind it, all requests together                               */
    uint64_t    submitted_ns;   /* entry of the submit call                                                        */
    uint64_t    scheduled_ns;   /* first step that held a row of the request began                                 */
    uint64_t    computed_ns;    /* the step behind it was done                                                     */
    uint64_t    ready_ns;       /* token: sampled; finished: the request's end                                     */
    uint64_t    delivered_ns;   /* handed to the callback or to takt_request_next()                                */
    uint64_t    compute_ns;     /* backend time of the step behind it; for index 0 of all prefill steps            */
    uint32_t    step_tokens;    /* token: how many the step behind it gave this request; more than 1 with drafts    */
    uint32_t    step_token_index; /* token: its place among them; all have the same computed_ns and ready_ns        */
    uint64_t    dropped_tokens; /* that had slid out of the context before this token was computed                 */
    uint32_t    n_slides;       /* times that it had slid                                                          */
    uint32_t    cached_tokens;  /* of the prompt, taken from earlier work instead of computed                      */
    uint64_t    request_id;     /* takt_request_id()                                                               */
    takt_gap    gap;            /* token: before the tokens of its step, told with the first of them; else zeros    */
};

/* Nearest-rank percentiles in ns; NaN where count is 0. */
typedef struct takt_distribution {
    uint64_t count;
    double   p50, p95, p99, max;
} takt_distribution;

typedef struct takt_stall {
    uint64_t request_id;
    uint64_t ns;
} takt_stall;

/* queue + prefill + decode + finish = e2e, to the nanosecond, however the request ended.
 * With a: entry of the submit call, q: first scheduled, s_j: tokens of step j sampled (j = 1..m), e: end:
 *   queue = (q, else e) - a;  prefill = 0 if never scheduled, else (s_1, else e) - q;  decode = s_m - s_1 and
 *   finish = e - s_m, both 0 without tokens;  TTFT = s_1 - a, queue included;
 *   TPOT = (s_m - s_1) / (n - n_1), n_1 tokens of the first step; undefined, never 0, for one token;
 *   step gap = s_j - s_(j-1), one sample a step;  ITL = step gap / k_j, counted k_j times.
 * Of an imported request q is when its state began to come. */
struct takt_timing {
    size_t            struct_size;
    uint64_t          submitted_ns;        /* stamps; TAKT_UNDEFINED_NS where it didn't happen                      */
    uint64_t          scheduled_ns;
    uint64_t          first_token_ns;
    uint64_t          last_token_ns;
    uint64_t          finished_ns;
    uint64_t          queue_ns;            /* durations; of a running request: up to now                            */
    uint64_t          prefill_ns;
    uint64_t          preempted_ns;        /* the part of prefill_ns spent waiting after a preemption               */
    uint64_t          decode_ns;
    uint64_t          finish_ns;
    uint64_t          e2e_ns;
    uint64_t          ttft_ns;             /* TAKT_UNDEFINED_NS without a token                                     */
    double            tpot_ns;             /* NaN where undefined                                                   */
    double            tpot_n1_ns;          /* (s_m - s_1) / (n - 1), what other tools print                         */
    takt_distribution step_gap_ns;
    takt_distribution itl_ns;
    uint64_t          prompt_tokens;
    uint64_t          cached_tokens;       /* of the prompt, taken from earlier work                                */
    uint64_t          generated_tokens;
    double            prefill_tokens_per_second; /* computed prompt tokens / (prefill - preempted); NaN if undefined */
    double            decode_tokens_per_second;  /* 1 / TPOT                                                        */
    char              backend[32];         /* zero-terminated                                                       */
    uint32_t          n_threads;
    int32_t           finish_reason;       /* TAKT_FINISH_…                                                         */
    uint64_t          draft_ns;            /* its part of the draft model's steps; within prefill and decode        */
    uint32_t          drafted[16];         /* drafts that were verified, by their place behind the last token; the last
                                              entry is 0                                                            */
    uint32_t          accepted[16];        /* and those that were what the model says itself                        */
    uint64_t          dropped_tokens;      /* that slid out of the context                                          */
    uint32_t          n_slides;            /* times that the context was full and slid                              */
    uint32_t          n_preemptions;       /* times that it gave its pages away, to be computed again               */
    uint64_t          request_id;          /* takt_request_id()                                                     */
    uint64_t          handover_ns;         /* the part of prefill_ns in which an imported state came                */
    takt_gap          gaps;                /* all step gaps together: gaps.total_ns is decode_ns                    */
    takt_gap          longest_gap;
    takt_stall        stalled_by[8];       /* whose prompts took how much of gaps.other_prefill_ns, those that took most;
                                              request_id 0: none. With more than 8 some of it is missing            */
    uint64_t          stalled_others_ns;   /* what its own prompt added to step gaps of others, all together        */
    uint32_t          slo_verdict;         /* TAKT_SLO_…; not judged while it runs                                  */
    uint32_t          slo_broken;          /* TAKT_BOUND_… of its takt_slo, as far as they are broken               */
};

struct takt_slo_miss {
    size_t   struct_size;
    uint64_t request_id;
    uint64_t at_ns;              /* when that was found                                                             */
    uint64_t bound_ns;
    uint64_t value_ns;           /* at that time: above bound_ns                                                    */
    uint64_t token_index;        /* the token that was late, or is                                                  */
    uint32_t bound;              /* TAKT_BOUND_…                                                                    */
    uint32_t reserved;
};

typedef struct takt_slo_preset {
    size_t      struct_size;
    const char *name;            /* "mlperf-llama3.1-8b-server", "guidellm-chat"; static                            */
    double      percentile;      /* of requests that must keep it                                                   */
    takt_slo    slo;
} takt_slo_preset;

/* A distribution that snapshots hold. Names are static; "" where there is none. */
typedef struct takt_metric_info {
    size_t      struct_size;
    const char *name;                /* "ttft"                                                                      */
    const char *prometheus_name;     /* "takt_time_to_first_token_seconds"                                          */
    const char *opentelemetry_name;  /* "gen_ai.server.time_to_first_token"                                         */
    const char *unit;                /* "ns" or "tokens"                                                            */
    const char *help;
} takt_metric_info;

/* Percentiles by nearest rank, NaN where count is 0; each within 0.4 % of the sample, 73 minutes and more as one. count, sum,
 * lowest and highest are exact, these two to the 0.4 % in a difference. */
typedef struct takt_histogram {
    size_t   struct_size;
    uint64_t count;
    uint64_t sum;
    uint64_t lowest;
    uint64_t highest;
    double   mean, p50, p90, p95, p99, p999;
} takt_histogram;

/* Counters of a snapshot. Times and tokens of a request count when it has ended, steps and tokens as they come. */
typedef struct takt_totals {
    size_t   struct_size;
    uint64_t begin_ns;                 /* the window: from the engine's making, or the earlier snapshot                */
    uint64_t end_ns;
    uint64_t finished[8];              /* requests by TAKT_FINISH_…                                                 */
    uint64_t shed;                     /* refused with TAKT_ERROR_QUEUE_FULL                                        */
    uint64_t prompt_tokens;            /* of requests that were scheduled                                           */
    uint64_t prompt_tokens_computed;
    uint64_t prompt_tokens_cached;
    uint64_t generated_tokens;
    uint64_t n_steps;
    uint64_t n_preemptions;
    uint64_t n_slides;
    uint64_t n_draft_steps;            /* times that a request's drafts were verified                               */
    uint64_t drafted_tokens;
    uint64_t accepted_tokens;
    uint64_t step_ns;                  /* wall time of steps; below, of those that held prompt rows, and decode rows */
    uint64_t prefill_step_ns;
    uint64_t decode_step_ns;
    uint64_t draft_ns;                 /* of the draft model                                                        */
    uint64_t read_bytes;               /* that steps read: weights once a step, keys and values. Draft models apart */
    uint64_t operations;               /* multiplications and additions of steps                                    */
    takt_gap gaps;                     /* step gaps of requests that were answered or cancelled, by what they were spent on */
    uint64_t slo_good;                 /* requests that kept their bounds; failed, shed and late ones missed them; a request
                                          that went away counts only if it was over a bound before                  */
    uint64_t slo_missed;
    uint64_t slo_broken[4];            /* of those missed: TTFT, TPOT, ITL, E2E                                     */
    uint64_t slo_failed;               /* of those missed: failed or shed                                           */
    uint64_t good_tokens;              /* of the good ones                                                          */
    double   attainment;               /* good / (good + missed); doubles are NaN where undefined                   */
    double   attainment_low;           /* its Wilson interval at 95 %                                               */
    double   attainment_high;
    double   goodput_requests_per_second; /* good / window                                                          */
    double   goodput_tokens_per_second;
    double   smooth_goodput;           /* tokens/s: tokens - alpha * max(0, l) of each request that ended, over the window; l is
                                          the most that a token came, or stayed, after its due time, in seconds.
                                          May be negative                                                           */
    double   smooth_goodput_floored;   /* the same without requests that earned less than nothing                   */
    double   prefill_tokens_per_second; /* computed prompt tokens / prefill_step_ns                                 */
    double   decode_tokens_per_second; /* tokens behind each request's first step / decode_step_ns                  */
    double   output_tokens_per_second; /* generated tokens / window                                                 */
    double   requests_per_second;      /* answered ones / window                                                    */
    double   share_of_read;            /* read_bytes / step_ns beside what takt_model_profile() measured last with limits, in
                                          this runtime; NaN if it didn't                                            */
    double   share_of_int8;            /* the same of operations                                                    */
    double   joules;                   /* of the machine in the window; NaN where the system doesn't tell           */
    double   joules_per_token;
} takt_totals;

/* How an exported state went or came. Filled whether it succeeded or not. */
typedef struct takt_transfer {
    size_t   struct_size;
    uint64_t transfer_bytes;         /* that the callback took or filled                                            */
    uint64_t total_ns;               /* from entry of the call to its return                                        */
    uint64_t callback_ns;            /* the part of it spent in the callback                                        */
    uint32_t n_tokens;               /* of the sequence: prompt and generated                                       */
    uint32_t n_computed;             /* of them, those whose keys and values were moved                             */
} takt_transfer;

typedef struct takt_model_info {
    size_t      struct_size;
    const char *family;           /* "llama"; texts are zero-terminated and borrowed until the model is destroyed   */
    const char *name;             /* general.name or ""                                                            */
    uint64_t    fingerprint;      /* of metadata and tensor table                                                  */
    uint64_t    weight_bytes;     /* of all tensors in use, as in the file                                         */
    uint64_t    packed_bytes;     /* as loaded for the backend; 0 with metadata_only                               */
    uint64_t    parameter_count;
    uint32_t    vocab_size;
    uint32_t    context_tokens;   /* what the model was trained for                                                */
    uint32_t    n_layers;
    uint32_t    embedding_dim;
    int32_t     bos_id;           /* -1: none                                                                      */
    int32_t     eos_id;
    uint32_t    has_chat_template;
    uint32_t    reserved;
} takt_model_info;

typedef struct takt_backend_info {
    size_t      struct_size;
    const char *name;             /* texts are zero-terminated and borrowed until the runtime is destroyed          */
    const char *device;           /* "" if absent                                                                  */
    const char *isa;              /* level in use, "" where it means nothing                                       */
    const char *isa_levels;       /* every level that runs here, best first, separated by spaces                   */
    const char *why_not;          /* "" if it is there, else why it isn't                                          */
    uint64_t    memory_bytes;     /* 0: unknown                                                                    */
    uint32_t    available;
    uint32_t    reserved;
} takt_backend_info;

/* A step to look at: rows of n_sequences sequences that stand at first_position, their last n_output_rows with logits. */
typedef struct takt_profile_options {
    size_t      struct_size;
    const char *backend;          /* NULL: the one the model was loaded for                                         */
    uint32_t    n_sequences;      /* 1 to 256                                                                       */
    uint32_t    n_rows;           /* of each sequence, 1 to 16384                                                   */
    uint32_t    n_output_rows;    /* of each sequence, 0 to n_rows                                                  */
    uint32_t    first_position;   /* keys and values before it are there, zero                                      */
    uint32_t    repetitions;      /* timed runs after a warm-up, 0 to 1000; 0: only counts                          */
    uint32_t    limits;           /* 1: measures the machine too, a few seconds                                     */
    uint32_t    kv_type;          /* TAKT_KV_…                                                                      */
    uint32_t    reserved;
} takt_profile_options;

/* Exactly what an engine takes in backend buffers, and the options that it would have. Lists and tables of the engine
 * itself, the tokenizer and the file's metadata are apart. */
typedef struct takt_memory_plan {
    size_t   struct_size;
    uint64_t weight_bytes;        /* shared by all engines of a runtime on the same model                           */
    uint64_t kv_bytes;            /* pages of keys and values                                                       */
    uint64_t scratch_bytes;
    uint64_t total_bytes;
    uint64_t kv_tokens;           /* as takt_engine_options, every 0 filled in                                      */
    uint32_t context_tokens;
    uint32_t max_sequences;
    uint32_t chunk_tokens;
    uint32_t page_tokens;
} takt_memory_plan;

/* One run of the backend. Stamps are those of the events of its tokens: end_ns is their computed_ns. */
struct takt_step {
    size_t   struct_size;
    uint64_t index;            /* of the engine's steps, from 0; evaluations count                                  */
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t gap_ns;           /* since the end of the step before; TAKT_UNDEFINED_NS for the first                 */
    uint32_t decode_rows;      /* of requests that generate, drafts included                                        */
    uint32_t prefill_rows;     /* of prompts, and of what is computed again after a preemption                      */
    uint32_t prefill_budget;   /* prefill rows that the step could have had (step_gap_ns); of an evaluation its own */
    uint32_t generated_tokens; /* that came of it                                                                   */
    uint32_t n_running;        /* requests, while it ran                                                            */
    uint32_t n_waiting;
};

/* Counters since the engine was made, and what it holds now. Counters never go back. */
typedef struct takt_engine_statistics {
    size_t   struct_size;
    uint64_t pages_in_use;           /* of keys and values, all groups of layers together: held by requests         */
    uint64_t pages_cached;           /* kept for prompts that begin alike, until their room is wanted               */
    uint64_t pages_total;
    double   page_waste;             /* 1 - tokens / (pages * page_tokens) of the pages that running requests held, those of
                                        layers with a window apart; sums over steps, a shared page counted once; NaN
                                        before the first step                                                       */
    uint64_t n_steps;                /* runs of the backend                                                         */
    uint64_t n_preemptions;          /* times that a request gave its pages away, to be computed again              */
    uint64_t prompt_tokens_computed; /* of prompts, until their first token; again where pages were given away      */
    uint64_t prompt_tokens_cached;   /* of prompts, taken from earlier work                                         */
    uint64_t generated_tokens;
    uint32_t page_tokens;
    uint32_t max_sequences;          /* requests that may run at once                                               */
    uint32_t n_running;              /* requests                                                                    */
    uint32_t n_waiting;
    uint64_t drafted_tokens;         /* drafts that were verified                                                   */
    uint64_t accepted_tokens;        /* and those that were what the model says itself                              */
} takt_engine_statistics;

/* What a step of n_rows rows takes. Never grows: it stands in arrays. */
typedef struct takt_step_cost {
    double   step_ns;               /* above 0, at most 1e15                                                       */
    uint32_t n_rows;                /* at least 1                                                                  */
    uint32_t reserved;              /* 0                                                                           */
} takt_step_cost;

/* Measured steps, by ascending n_rows, one at least in each table. A step of n rows of which k give a token takes
 * decode(k) + prefill(n) - prefill(k), and prefill(n) where k is 0. Between two measured steps lies a straight line. Unless
 * it is in the table, prefill(1) is decode(1); fewer rows than the first of decode take as long as that. Beyond its last
 * step prefill goes on as the last line does, and decode as prefill does there. */
typedef struct takt_step_costs {
    size_t                struct_size;
    const takt_step_cost *decode;        /* borrowed for the call; n_rows rows that give a token each              */
    size_t                decode_count;
    const takt_step_cost *prefill;       /* borrowed for the call; n_rows rows of which one gives a token          */
    size_t                prefill_count;
    double                decode_position_ns;  /* on top of the tables, for each position before a row that gives a
                                             token, over all such rows                                             */
    double                prefill_position_ns; /* and for each before a row that gives none                        */
} takt_step_costs;

/* Never grows: it stands in arrays. */
typedef struct takt_simulated_request {
    uint64_t arrival_ns;            /* not before that of the one in front of it; at most 2^60                     */
    uint32_t prompt_tokens;         /* at least 1                                                                  */
    uint32_t output_tokens;         /* at least 1; fewer come where the context is full                            */
} takt_simulated_request;

typedef struct takt_quantize_options {
    size_t                 struct_size;
    const char            *input_path;       /* a model file; of a split model its first part                       */
    const char            *output_path;      /* replaced whole if it is there; never the input                      */
    const char            *type;             /* "q4_k_m", "q8_0", "f16", …: an unknown one is refused with all names */
    const char            *importance_path;  /* NULL, or what takt_model_calibrate() or the usual engine wrote      */
    takt_progress_callback progress;         /* bytes of the input's tensors; on the calling thread                 */
    void                  *progress_user_data;
    uint32_t               requantize;       /* 1: take tensors that are quantized already, and lose twice          */
    uint32_t               pure;             /* 1: every matrix in the one type, without the rules that give some
                                                tensors of a mix more bits                                          */
} takt_quantize_options;

typedef struct takt_quantize_result {
    size_t   struct_size;
    uint64_t input_bytes, output_bytes;      /* of the files                                                        */
    uint32_t n_tensors, n_quantized;         /* in all; now in another type                                         */
    uint32_t n_fallbacks;                    /* in a type of smaller blocks, since rows aren't whole blocks of theirs */
    uint32_t reserved;
} takt_quantize_result;

/* Defaults; struct_size is the caller's sizeof. NULL or a size below the first release's is TAKT_ERROR_INVALID_ARGUMENT. */
TAKT_API takt_status takt_runtime_options_init(takt_runtime_options *options, size_t struct_size);
TAKT_API takt_status takt_model_options_init(takt_model_options *options, size_t struct_size);
TAKT_API takt_status takt_engine_options_init(takt_engine_options *options, size_t struct_size);
TAKT_API takt_status takt_request_options_init(takt_request_options *options, size_t struct_size);
TAKT_API takt_status takt_profile_options_init(takt_profile_options *options, size_t struct_size);
TAKT_API takt_status takt_step_costs_init(takt_step_costs *options, size_t struct_size);
TAKT_API takt_status takt_quantize_options_init(takt_quantize_options *options, size_t struct_size);
#define TAKT_RUNTIME_OPTIONS_INIT {sizeof(takt_runtime_options), NULL, NULL, NULL, NULL, NULL, 0, TAKT_LOG_WARNING}
#define TAKT_MODEL_OPTIONS_INIT {sizeof(takt_model_options), NULL, NULL, 0, 0, 0, NULL, NULL, NULL, -1, 0, NULL}
#define TAKT_ENGINE_OPTIONS_INIT                                                                                \
    {sizeof(takt_engine_options), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, \
     0.0, 0.0, 0, 0}
#define TAKT_SLO_INIT {sizeof(takt_slo), 0, 0, 0, 0}
#define TAKT_REQUEST_OPTIONS_INIT                                                                               \
    {sizeof(takt_request_options), NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, 0, 0,   \
     TAKT_ADD_SPECIAL, 256, 0.0f, 0, 1.0f, 0.0f, 1.0f, 0.0f, 0.0f, 64, 0, 0, 0, TAKT_DRAFTS_DEFAULT, 0, \
     TAKT_CONTEXT_STOP, 0, 0, NULL, 0, 0}
#define TAKT_PROFILE_OPTIONS_INIT {sizeof(takt_profile_options), NULL, 1, 1, 1, 0, 0, 0, 0, 0}
#define TAKT_STEP_COSTS_INIT {sizeof(takt_step_costs), NULL, 0, NULL, 0, 0.0, 0.0}
#define TAKT_QUANTIZE_OPTIONS_INIT {sizeof(takt_quantize_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0}

/* ---- Library ------------------------------------------------------------------------------------------------------ */

/* "0.1.0". Thread-safe. */
TAKT_API const char *takt_version(void);
/* The sentence of this thread's last failed call, "" if none failed yet. Borrowed until the thread's next call. */
TAKT_API const char *takt_last_error(void);
/* "TAKT_ERROR_FILE_NOT_FOUND". Thread-safe; "TAKT_ERROR_UNKNOWN" for numbers without a meaning. */
TAKT_API const char *takt_status_name(takt_status status);
/* "stop", "length", "cancelled", "context_full", "deadline", "error"; "none" for a request that runs. Thread-safe. */
TAKT_API const char *takt_finish_reason_name(int32_t finish_reason);

/* ---- Runtime ------------------------------------------------------------------------------------------------------ */

/* options NULL: defaults. Errors: TAKT_ERROR_NOT_FOUND for an ISA level that is unknown or another architecture's. */
TAKT_API takt_status takt_runtime_create(const takt_runtime_options *options, takt_runtime **out_runtime);
TAKT_API void takt_runtime_destroy(takt_runtime *runtime);
/* Now, on the clock of every stamp. Thread-safe. 0 for NULL. */
TAKT_API uint64_t takt_runtime_now_ns(const takt_runtime *runtime);
/* Threads that compute, the one that runs the step included. Thread-safe. 0 for NULL. */
TAKT_API uint32_t takt_runtime_thread_count(const takt_runtime *runtime);
/* Threads of steps with many rows (prefill) and with few (decode), from the next step on; 0: all. What a step computes does
 * not depend on it. Thread-safe. Errors: TAKT_ERROR_INVALID_ARGUMENT for more than takt_runtime_thread_count(). */
TAKT_API takt_status takt_runtime_set_threads(takt_runtime *runtime, uint32_t n_prefill, uint32_t n_decode);
/* Compiled-in backends, best first, absent ones included. Thread-safe. 0 for NULL. */
TAKT_API size_t takt_backend_count(const takt_runtime *runtime);
TAKT_API takt_status takt_backend_get(const takt_runtime *runtime, size_t index, takt_backend_info *out_info);

/* ---- Model -------------------------------------------------------------------------------------------------------- */

/* Reads, checks and brings the weights into the backend's form. Blocks; thread-safe. Errors: every TAKT_ERROR_FILE_…,
 * _MODEL_… and _TOKENIZER_… code; TAKT_ERROR_CANCELLED if progress said so. */
TAKT_API takt_status takt_model_load(takt_runtime *runtime, const takt_model_options *options, takt_model **out_model);
TAKT_API void takt_model_destroy(takt_model *model);
/* Thread-safe, as all that follows on models. */
TAKT_API takt_status takt_model_get_info(const takt_model *model, takt_model_info *out_info);
/* Metadata, tensors and what takt does with them, as one JSON object. "types" tells for each tensor type what the backend
 * runs it as and whether that is exact: {"type","tensors","bytes","runs_as","precision"}, precision one of "exact", "scales
 * rounded" (to float16, 1/4096 at most) and "rounded" (half a step of the largest of 32 weights over 127). */
TAKT_API takt_status takt_model_inspect(const takt_model *model, char *out_text, size_t capacity, size_t *out_bytes);
/* The model as a program, one op a line. */
TAKT_API takt_status takt_model_program(const takt_model *model, char *out_text, size_t capacity, size_t *out_bytes);
/* What takt_engine_create() with these options would take, to the byte; options NULL: defaults. Allocates and reads none of
 * it, so a model of metadata_only is enough. Errors: those that takt_engine_create() would have with these options. */
TAKT_API takt_status takt_model_plan(const takt_model *model, const takt_engine_options *options, takt_memory_plan *out_plan);

/* What a step reads and multiplies, where its time goes and how near that is to the machine's limits, as one JSON object:
 *   weight_bytes, kv_bytes (read once a step), product_operations (2 x weights multiplied), attention_operations,
 *   n_threads, backend; with repetitions: median_ns and parts, a list of name, count, median_ns, operations, and with
 *   limits peer_int8_ns and peer_float_ns: oneDNN's u8 x s8 and float32 products in the part's shapes;
 *   with limits: limits {read_bytes_per_second of a working set as large as the step's, int8_operations_per_second and
 *   float_operations_per_second of oneDNN at 512 x 1536 x 8960}, all threads together. What isn't known is null.
 * Blocks; loads the weights if nothing has; other steps of the runtime wait meanwhile. on_profile is called once, on the
 * calling thread. Errors: TAKT_ERROR_INVALID_ARGUMENT naming
 * field and value, TAKT_ERROR_OUT_OF_MEMORY. */
TAKT_API takt_status takt_model_profile(const takt_model *model, const takt_profile_options *options,
                                        takt_text_callback on_profile, void *user_data);
/* flags: TAKT_ADD_SPECIAL | TAKT_PARSE_SPECIAL. Any bytes are text; none is lost. */
TAKT_API takt_status takt_model_tokenize(const takt_model *model, const char *text, size_t text_bytes, uint32_t flags,
                                         int32_t *out_ids, size_t capacity, size_t *out_count);
/* The bytes that the ids stand for; keep_special writes control tokens out. Errors: an id out of range, by index. */
TAKT_API takt_status takt_model_detokenize(const takt_model *model, const int32_t *ids, size_t ids_count,
                                           uint32_t keep_special, char *out_text, size_t capacity, size_t *out_bytes);
/* Renders the file's chat template. json: {"messages":[{"role":…,"content":…}…], "tools":[…], …}; every member becomes a
 * variable of the template. add_generation_prompt 1 opens the assistant's turn. Errors: TAKT_ERROR_TEMPLATE_MISSING,
 * TAKT_ERROR_TEMPLATE (line, column), TAKT_ERROR_INVALID_ARGUMENT for JSON (byte offset). */
TAKT_API takt_status takt_model_render_chat(const takt_model *model, const char *json, size_t json_bytes,
                                            uint32_t add_generation_prompt, char *out_text, size_t capacity,
                                            size_t *out_bytes);

/* ---- Engine ------------------------------------------------------------------------------------------------------- */

/* options NULL: defaults. Pages and scratch are allocated here; a steady decode step allocates nothing. */
TAKT_API takt_status takt_engine_create(takt_model *model, const takt_engine_options *options, takt_engine **out_engine);
/* Cancels what runs and waits for the last callback; calls that come meanwhile get TAKT_ERROR_INVALID_STATE, as it does
 * itself inside a callback of its own requests. Two engines must not destroy each other in their callbacks. */
TAKT_API takt_status takt_engine_destroy(takt_engine *engine);
/* Everything that was submitted before, blocking calls of other threads included, ends as cancelled within a step.
 * Returns at once; thread-safe, callbacks included. */
TAKT_API takt_status takt_engine_cancel_all(takt_engine *engine);
/* One round of a step_driven engine on this thread: requests that are over end, others begin, and one step of all that run
 * is computed and told. *out_has_work (may be NULL): 1 while requests run or wait. Calls that wait (generate, evaluate,
 * next and wait with a timeout above 0, a session's send) do the same until they have what they wait for; export, import
 * and destroy only what needs no step. With one runtime thread and a step_driven engine takt makes no thread at all.
 * Any thread, one at a time. Errors: TAKT_ERROR_INVALID_STATE for an engine with a thread of its own, inside a callback,
 * or while another thread is at it. */
TAKT_API takt_status takt_engine_step(takt_engine *engine, uint32_t *out_has_work);
TAKT_API uint32_t takt_engine_context_tokens(const takt_engine *engine);
/* As of the last step, or of the last request that ended. Thread-safe, callbacks included; waits for no step. */
TAKT_API takt_status takt_engine_get_statistics(const takt_engine *engine, takt_engine_statistics *out_statistics);

/* The steps that the engine remembers (trace_steps), the last ones, with the requests whose rows they held, and the phases of
 * requests that ended meanwhile: one JSON object in the Trace Event Format, for ui.perfetto.dev or chrome://tracing. Times
 * in it are microseconds on the runtime's clock. on_trace is called once, on the calling thread. Thread-safe. */
TAKT_API takt_status takt_engine_trace(const takt_engine *engine, takt_text_callback on_trace, void *user_data);

/* Runs one request to its end. Thread-safe; on_event runs on the calling thread. out_timing may be NULL. The engine goes
 * on while on_event runs: after TAKT_STOP the timing counts what was computed until then, and a request that had already
 * ended keeps its own reason.
 * Errors: those of takt_engine_submit; a request that ended with TAKT_FINISH_ERROR returns its status. */
TAKT_API takt_status takt_engine_generate(takt_engine *engine, const takt_request_options *options, takt_timing *out_timing);
/* Queues a request and returns at once. Thread-safe, callbacks included. Errors: TAKT_ERROR_PROMPT_EMPTY,
 * TAKT_ERROR_PROMPT_TOO_LONG (need and have), TAKT_ERROR_QUEUE_FULL, TAKT_ERROR_INVALID_ARGUMENT naming field and value.
 * If it fails, on_release is not called. */
TAKT_API takt_status takt_engine_submit(takt_engine *engine, const takt_request_options *options, takt_request **out_request);
/* A new request that goes on where an exported one was, perhaps in another process on another machine: it begins with the
 * exported tokens (takt_request_prompt_ids gives them), computes what isn't computed and generates options->max_tokens more;
 * options' prompt fields are ignored. With the sampling options of the exported request its tokens are those it would have
 * gone on with; text begins anew. Bytes are checked as they come; a well-made forgery is no danger to memory, but says what
 * it likes, and serves only this request and its forks. Nothing behind the state's last byte is read.
 * out_transfer may be NULL. Blocks while the state comes; thread-safe; not inside a callback. Errors:
 * TAKT_ERROR_STATE_MISMATCH for a state of another model, TAKT_KV_… type or version; TAKT_ERROR_STATE_CORRUPT;
 * TAKT_ERROR_PROMPT_TOO_LONG, TAKT_ERROR_OUT_OF_MEMORY (need and have); TAKT_ERROR_CANCELLED by takt_engine_cancel_all; those
 * of takt_engine_submit. A failed import leaves nothing behind, and on_release is not called. */
TAKT_API takt_status takt_engine_import(takt_engine *engine, takt_read_callback read, void *user_data,
                                        const takt_request_options *options, takt_transfer *out_transfer,
                                        takt_request **out_request);
/* Runs ids through the model from an empty state and gives the logits of positions first_position … ids_count - 1.
 * chunk_tokens: rows a step (1: the decode kernels; 0: the engine's chunk). Blocks; thread-safe; on_logits runs on the
 * calling thread. */
TAKT_API takt_status takt_engine_evaluate(takt_engine *engine, const int32_t *ids, size_t ids_count, size_t first_position,
                                          uint32_t chunk_tokens, takt_logits_callback on_logits, void *user_data);

/* ---- Request ------------------------------------------------------------------------------------------------------ */

/* The next event of a request without on_event; waits up to timeout_ns (UINT64_MAX: for ever). One thread at a time.
 * Errors: TAKT_ERROR_TIMED_OUT; TAKT_ERROR_INVALID_STATE after the finished event was given, or inside a callback. */
TAKT_API takt_status takt_request_next(takt_request *request, uint64_t timeout_ns, takt_event *out_event);
/* Waits for the end. Thread-safe. Errors: TAKT_ERROR_TIMED_OUT; TAKT_ERROR_INVALID_STATE inside a callback. */
TAKT_API takt_status takt_request_wait(takt_request *request, uint64_t timeout_ns);
/* Asks the request to end; takes effect within one step. Thread-safe, callbacks included; harmless after the end. */
TAKT_API takt_status takt_request_cancel(takt_request *request);
/* The request's own status, and its sentence (borrowed until it is destroyed). TAKT_OK while it runs. Thread-safe. */
TAKT_API takt_status takt_request_status(const takt_request *request, const char **out_message);
/* Times so far, or of the whole. Thread-safe, callbacks included. */
TAKT_API takt_status takt_request_timing(const takt_request *request, takt_timing *out_timing);
/* Its number among those of its engine, from 1: events, timings, gaps and traces name it by that. 0 for NULL. Thread-safe. */
TAKT_API uint64_t takt_request_id(const takt_request *request);
/* The prompt as it was computed, BOS included. Thread-safe. */
TAKT_API takt_status takt_request_prompt_ids(const takt_request *request, int32_t *out_ids, size_t capacity, size_t *out_count);
/* A new request of the same engine that begins with the first n_tokens (0: all so far) of source's prompt and generated
 * tokens: to give several answers, to try again from an earlier place, to cut an end off. It has the tokens of a request
 * with those ids as its prompt, and shares source's keys and values while source runs or is kept (keep_state): pages are
 * copied only where one of them writes. options' prompt fields are ignored. Returns at once; thread-safe, callbacks
 * included, those of source too. Errors: TAKT_ERROR_INVALID_ARGUMENT for more tokens than there are, those of
 * takt_engine_submit, TAKT_ERROR_INVALID_STATE after takt_engine_destroy. If it fails, on_release is not called. */
TAKT_API takt_status takt_request_fork(takt_request *source, const takt_request_options *options, uint32_t n_tokens,
                                       takt_request **out_request);
/* Gives the state of a request that runs, as it is now, or that ended and is kept (keep_state): all tokens, and the keys and
 * values computed so far, as a portable stream for takt_engine_import. The request itself goes on or stays.
 * out_transfer may be NULL. Blocks while the callback takes the bytes; thread-safe; not inside a callback. Errors:
 * TAKT_ERROR_INVALID_STATE for a request that ended and isn't kept, whose context has slid, or whose engine is gone; TAKT_ERROR_CANCELLED if the callback said so, or by takt_engine_cancel_all;
 * TAKT_ERROR_UNSUPPORTED for backends that can't give keys and values out. */
TAKT_API takt_status takt_request_export(takt_request *request, takt_write_callback write, void *user_data,
                                         takt_transfer *out_transfer);
/* Cancels and returns after the last callback; inside its own callback that is deferred. Then on_release runs once. */
TAKT_API void takt_request_destroy(takt_request *request);

/* ---- Statistics ---------------------------------------------------------------------------------------------------- */

/* What the engine has done up to now. Thread-safe, callbacks included; takes about 0.1 ms of the calling thread, of which it
 * holds the engine up for some ten microseconds.
 * A snapshot belongs to nobody else: it stays as it is when the engine is gone. All functions on it are thread-safe. */
TAKT_API takt_status takt_engine_snapshot(const takt_engine *engine, takt_snapshot **out_snapshot);
TAKT_API void takt_snapshot_destroy(takt_snapshot *snapshot);
/* What happened between two snapshots of one engine. Errors: TAKT_ERROR_INVALID_ARGUMENT if `earlier` isn't an earlier one of the
 * same engine. */
TAKT_API takt_status takt_snapshot_difference(const takt_snapshot *later, const takt_snapshot *earlier,
                                              takt_snapshot **out_snapshot);
/* Two engines together, of one machine or several, in the same time: counts add up, the window is the longer one. */
TAKT_API takt_status takt_snapshot_merge(const takt_snapshot *one, const takt_snapshot *other, takt_snapshot **out_snapshot);
TAKT_API takt_status takt_snapshot_totals(const takt_snapshot *snapshot, takt_totals *out_totals);
/* Distributions by index, 0 to takt_metric_count() - 1; an index never changes its meaning. TTFT, TPOT and ITL are of requests
 * that were answered, step gap and ITL also of cancelled ones; ttft_… tell turns and prefix hits apart, …_cancelled and
 * …_failed are theirs. */
TAKT_API size_t takt_metric_count(void);
TAKT_API takt_status takt_metric_get(size_t index, takt_metric_info *out_info);
TAKT_API takt_status takt_snapshot_histogram(const takt_snapshot *snapshot, size_t metric, takt_histogram *out_histogram);
/* part: 0 to 1. rule: TAKT_PERCENTILE_…; out_count may be NULL. *out_value is NaN without samples. */
TAKT_API takt_status takt_snapshot_percentile(const takt_snapshot *snapshot, size_t metric, double part, uint32_t rule,
                                              double *out_value, uint64_t *out_count);
/* The same of samples, exactly. They are sorted in place; none is NaN, infinity is a value. */
TAKT_API takt_status takt_percentile(double *samples, size_t count, double part, uint32_t rule, double *out_value);
/* All of it as one JSON object: "metrics" by name, "adjusted" (TTFT and E2E with each request that failed or was shed as one that
 * took for ever; null is infinity), "rates", "roofline", "energy", "slo", "smooth_goodput", "step_gap_causes_ns", "stalled_others" (the
 * requests whose prompts stalled others most, since the engine was made), "totals", "now" and "conditions" (CPU, ISA, kernels,
 * threads, governor, quota, load, model, quantization, warm). The rules behind the numbers stand beside them. */
TAKT_API takt_status takt_snapshot_json(const takt_snapshot *snapshot, char *out_text, size_t capacity, size_t *out_bytes);
/* Prometheus' text format 0.0.4: takt_…, labels model_name and engine. */
TAKT_API takt_status takt_snapshot_prometheus(const takt_snapshot *snapshot, char *out_text, size_t capacity,
                                              size_t *out_bytes);
/* As bytes, for other processes and later days. Errors of import: TAKT_ERROR_STATE_CORRUPT, TAKT_ERROR_STATE_MISMATCH (of another
 * version). */
TAKT_API takt_status takt_snapshot_export(const takt_snapshot *snapshot, void *out_data, size_t capacity, size_t *out_bytes);
TAKT_API takt_status takt_snapshot_import(const void *data, size_t data_bytes, takt_snapshot **out_snapshot);
/* Bounds that others have set. Thread-safe. */
TAKT_API size_t takt_slo_preset_count(void);
TAKT_API takt_status takt_slo_preset_get(size_t index, takt_slo_preset *out_preset);
/* Whether a request that ended with this timing keeps these bounds: TAKT_SLO_…, and the TAKT_BOUND_… that it breaks (may be NULL). */
TAKT_API takt_status takt_timing_judge(const takt_timing *timing, const takt_slo *slo, uint32_t *out_verdict,
                                       uint32_t *out_broken);

/* ---- Simulation --------------------------------------------------------------------------------------------------- */

/* What the requests' times would be on an engine with these options (NULL: defaults) whose steps take what costs say: the
 * engine's own queue, scheduler and pages, in simulated time that begins at 0. Answers before a machine is bought or a load
 * comes; a model of metadata_only is enough. Prompts share nothing, no request ends before its output_tokens but where its
 * context is full, and there are no drafts. Thousands of requests take well under a second.
 * on_request is called once for each request, in the order in which they end, with its index; backend is "simulated" and
 * n_threads 0. A request that finds the queue full ends as it comes, with TAKT_FINISH_ERROR. options->on_step is told every
 * step. Blocks; thread-safe, callbacks included; callbacks run on the calling thread. Errors: TAKT_ERROR_INVALID_ARGUMENT
 * naming field and value, TAKT_ERROR_PROMPT_TOO_LONG, TAKT_ERROR_CANCELLED if on_request said so, those of
 * takt_engine_create. */
TAKT_API takt_status takt_model_simulate(const takt_model *model, const takt_engine_options *options,
                                         const takt_step_costs *costs, const takt_simulated_request *requests,
                                         size_t n_requests, takt_simulation_callback on_request, void *user_data);

/* ---- Quantization ------------------------------------------------------------------------------------------------- */

/* Writes a model file in another type: f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q6_k and the mixes q4_k_s, q4_k_m, q5_k_s,
 * q5_k_m, which give some tensors more bits. Norms and whatever isn't a matrix stay as they are; metadata is copied. Scales
 * are searched for the least squared error, weighted by the importance of columns where there is one. Works on as many
 * threads of its own as the runtime has, holds a few MB, and keeps no engine waiting. The output comes into being whole:
 * nothing is left of it on any failure. out_result may be NULL. Blocks; thread-safe. Errors: TAKT_ERROR_INVALID_ARGUMENT
 * naming option, type or tensor; every TAKT_ERROR_FILE_… code; TAKT_ERROR_CANCELLED if progress said so. */
TAKT_API takt_status takt_quantize(takt_runtime *runtime, const takt_quantize_options *options,
                                   takt_quantize_result *out_result);

/* Runs the model over a text and writes how much the columns of its matrices matter (the mean of their inputs' squares) to a
 * file, for takt_quantize_options.importance_path; other engines read it too. The tokens are cut into windows of window_tokens
 * (0: the smaller of 512 and the model's). progress counts tokens and may be NULL. Loads the weights if nobody has; takes its
 * turns with the runtime's engines. Blocks; thread-safe. Errors: TAKT_ERROR_INVALID_ARGUMENT naming the value,
 * TAKT_ERROR_UNSUPPORTED of a backend that can't, TAKT_ERROR_CANCELLED if progress said so, those of writing the file. */
TAKT_API takt_status takt_model_calibrate(const takt_model *model, const int32_t *ids, size_t id_count, uint32_t window_tokens,
                                          const char *path, takt_progress_callback progress, void *user_data);

/* ---- Session ------------------------------------------------------------------------------------------------------ */

/* A conversation by the model's chat template. system may be NULL. One thread at a time, but cancel. */
TAKT_API takt_status takt_session_create(takt_engine *engine, const char *system, size_t system_bytes, takt_session **out_session);
/* Adds the user's message, generates the answer (on_event on the calling thread) and keeps it. options' prompt fields
 * are ignored. A turn that fails or is cancelled before its first token leaves the conversation as it was; one that is
 * cancelled later keeps what was said. */
TAKT_API takt_status takt_session_send(takt_session *session, const char *text, size_t text_bytes,
                                       const takt_request_options *options, takt_timing *out_timing);
/* Ends the running send(). Thread-safe, and safe to call from a signal handler's helper thread. */
TAKT_API takt_status takt_session_cancel(takt_session *session);
/* Forgets everything but the system message. */
TAKT_API takt_status takt_session_reset(takt_session *session);
TAKT_API void takt_session_destroy(takt_session *session);

#ifdef __cplusplus
}
#endif

#endif /* TAKT_TAKT_H */
