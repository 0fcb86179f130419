// Runs requests on one model: a queue, a scheduler, pages, one worker thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/callback_guard.h"
#include "engine/request.h"
#include "engine/runtime.h"
#include "engine/slo_miss.h"
#include "engine/statistics_board.h"
#include "engine/step_record.h"
#include "model/model.h"
#include "state/state_format.h"

namespace takt {

struct EngineOptions {
    std::string backend;              // "": the best one
    uint32_t context_tokens = 0;      // 0: min(4096, the model's)
    uint32_t max_sequences = 0;       // 0: 16
    uint32_t max_waiting = 0;         // 0: 4096
    uint32_t chunk_tokens = 0;        // 0: 512
    uint64_t kv_tokens = 0;           // 0: context_tokens * min(max_sequences, 4)
    uint64_t memory_limit_bytes = 0;  // of backend buffers, weights included; 0: none (memory_fit.h)
    bool deterministic = false;
    uint64_t step_gap_ns = 0;       // see ChunkBudget
    bool step_driven = false;       // no thread of its own: see step()
    bool prefix_reuse = true;       // full pages of earlier prompts and answers serve later ones
    uint32_t page_tokens = 0;       // 0: 32; a power of two from 16 to 4096
    std::optional<DType> kv_dtype;  // unset: the backend's choice, f16 on cpu and f32 on reference
    // Null: none. Of the same vocabulary; has pages for as many positions as the model.
    std::shared_ptr<const Model> draft_model;
    std::string packed_cache_dir;  // see LoadOptions; for weights that no load brought in before
    std::function<void(const StepRecord&)> on_step;   // see Listener
    std::string name;                                 // "": its number
    Slo slo;                                          // of requests without one of their own
    std::function<void(const SloMiss&)> on_slo_miss;  // see Listener
    SmoothRule smooth;
    uint32_t trace_steps = 0;  // see StepTrace
};

// What an engine would be made with, and what it would take in backend buffers.
struct EnginePlan {
    EngineOptions options;  // every 0 filled in
    MemoryPlan memory;
};

// How an exported state went or came.
struct Transfer {
    uint64_t bytes = 0;                     // given to the callback, or filled by it
    uint64_t total_ns = 0;                  // of the whole call
    uint64_t callback_ns = 0;               // of that, in the callback
    uint32_t n_tokens = 0, n_computed = 0;  // of the sequence; of them, those with keys and values
};

class Engine {
public:
    static Result<std::shared_ptr<Engine>> create(std::shared_ptr<Runtime> runtime,
                                                  std::shared_ptr<const Model> model,
                                                  const EngineOptions& options,
                                                  const LoadProgress& progress = {});
    static Result<EnginePlan> plan(Runtime& runtime, const Model& model, const EngineOptions& options);
    // Cancels what runs, waits for the last callback; on the worker's own thread it can't, and the worker
    // ends by itself.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    Result<std::unique_ptr<Request>> submit(RequestOptions options);
    // Runs to the end; on_event is called on this thread. The request, ended, is returned whatever its
    // reason.
    Result<std::unique_ptr<Request>> generate(RequestOptions options);
    // A request of its own that begins with the first n_tokens (0: all so far) of another one's prompt and
    // answer, and shares its pages if they are there when it is admitted: else it computes what it lacks.
    // options' prompt is ignored.
    Result<std::unique_ptr<Request>> fork(const Request& source, RequestOptions options, uint32_t n_tokens);
    // What a request that runs or was kept has at this moment, through `write`, on this thread; the engine
    // goes on meanwhile. invalid_state for one that ended and wasn't kept.
    Status export_state(const Request& request, const WriteBytes& write, Transfer& transfer);
    // Goes on where an exported request was. options' prompt is ignored; max_tokens are those to come.
    Result<std::unique_ptr<Request>> import_state(const ReadBytes& read, RequestOptions options,
                                                  Transfer& transfer);
    // Pages that someone holds, per state group. Waits for the end of the step.
    Result<std::vector<uint32_t>> pages_in_use();
    // Logits of positions first_position…, on this thread; false from on_logits stops with `cancelled`.
    Status evaluate(std::span<const int32_t> ids, size_t first_position, uint32_t chunk_tokens,
                    const std::function<bool(size_t position, std::span<const float> logits)>& on_logits);
    // Whatever was submitted before ends within a step as cancelled; the second also waits for the last
    // callback and is not for callbacks.
    void cancel_all();
    void cancel_all_and_wait();
    // on_step and on_slo_miss are called no more: their owner may go while a session keeps the engine.
    void stop_telling();
    // Of a step-driven engine: ends, admits and computes one step of what runs, on this thread, which is
    // worker 0. True while requests run or wait. invalid_state inside a callback, or while another thread is
    // at it. Calls that wait for requests do the same; who only submits must call it.
    Result<bool> step();
    // In a forked child what the worker may have locked stays locked.
    Status refuse_in_forked_child() const;
    // True on the thread that is inside one of this engine's callbacks, or in one that holds up every engine.
    bool inside_callback() const;
    std::shared_ptr<const CallbackThreads> callback_threads() const;

    uint32_t context_tokens() const;
    const MemoryPlan& memory() const;             // counted over the backend's buffers
    EngineStatistics statistics() const;          // any thread
    void snapshot(Statistics& statistics) const;  // into new ones; any thread
    std::string trace_json() const;               // any thread
    Origin origin() const;                        // of a snapshot taken now
    const Model& model() const;
    Runtime& runtime() const;
    std::string_view backend_name() const;

private:
    struct Impl;
    explicit Engine(std::shared_ptr<Impl> impl);
    std::shared_ptr<Impl> impl_;
};

}  // namespace takt
