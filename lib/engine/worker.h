// The engine's one thread: admits requests, runs steps, samples, stamps, and ends what must end. It never dies of a request.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "engine/evaluation.h"
#include "engine/page_pool.h"
#include "engine/running_request.h"
#include "engine/runtime.h"
#include "engine/scheduler.h"
#include "model/model.h"
#include "sampler/sampler_chain.h"

namespace takt {

struct WorkerLimits {
    uint32_t max_sequences = 0, max_waiting = 0, chunk_tokens = 0, max_output_rows = 0;
};

class Worker {
public:
    Worker(std::shared_ptr<Runtime> runtime, std::shared_ptr<const Model> model, std::unique_ptr<Executable> executable,
           std::vector<PagePool> pools, const WorkerLimits& limits, std::shared_ptr<WorkerSignal> signal);
    // Cancels everything and waits for the last callback.
    ~Worker();

    std::vector<PagePool>& pools() { return pools_; }
    uint64_t next_sequence() { return next_sequence_.fetch_add(1); }
    Status submit(std::unique_ptr<RunningRequest> request);
    void submit(std::shared_ptr<Evaluation> evaluation);

private:
    using Running = std::unique_ptr<RunningRequest>;
    void loop();
    bool wait_for_work();
    void take_incoming();
    void end_cancelled(std::deque<Running>& requests, uint64_t now_ns);
    void end_cancelled(std::vector<Running>& requests, uint64_t now_ns);
    bool end_if_over(RunningRequest& request, uint64_t now_ns);
    void admit();
    Result<StepOutput> run_step();
    void run_requests();
    void run_evaluations();
    void sample_outputs(const StepOutput& output, uint64_t computed_ns);
    Result<int32_t> choose(RunningRequest& request, const StepOutput& output, size_t output_row);
    void accept(RunningRequest& request, int32_t id, const StepStamp& stamp);
    void finish(RunningRequest& request, FinishReason reason, Status status = {});
    void drop_finished();
    void fail_all(const Status& status);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<const Model> model_;
    std::unique_ptr<Executable> executable_;
    std::vector<PagePool> pools_;
    WorkerLimits limits_;
    std::shared_ptr<WorkerSignal> signal_;
    StepBuilder step_;
    SamplerScratch sampler_scratch_;
    std::atomic<uint64_t> next_sequence_{1};

    // Guarded by signal_->mutex.
    std::deque<Running> incoming_;
    std::vector<std::shared_ptr<Evaluation>> incoming_evaluations_;
    size_t n_waiting_ = 0;          // incoming and waiting together
    bool stopping_ = false;

    // The worker's own.
    std::deque<Running> waiting_;
    std::vector<Running> running_;
    std::vector<std::shared_ptr<Evaluation>> evaluations_;
    uint64_t seen_version_ = 0;
    std::thread thread_;
};

}  // namespace takt
