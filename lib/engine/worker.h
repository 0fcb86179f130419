// What an engine does, on one thread at a time: takes what was submitted, ends what is over, admits, steps,
// samples and tells.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "engine/chunk_budget.h"
#include "engine/evaluation.h"
#include "engine/gap_keeper.h"
#include "engine/listener.h"
#include "engine/page_pool.h"
#include "engine/page_waste.h"
#include "engine/running_request.h"
#include "engine/runtime.h"
#include "engine/scheduler.h"
#include "engine/slo_watch.h"
#include "engine/speculation.h"
#include "engine/statistics_board.h"
#include "engine/step_record.h"
#include "engine/step_trace.h"
#include "engine/token_chooser.h"
#include "model/model.h"
#include "program/step_cost.h"

namespace takt {

struct WorkerLimits {
    uint32_t max_sequences = 0, max_waiting = 0, chunk_tokens = 0, max_rows = 0, max_output_rows = 0;
    uint64_t step_gap_ns = 0;  // see ChunkBudget
    bool prefix_reuse = true;
    uint32_t page_tokens = 0;
    SmoothRule smooth;
    uint32_t trace_steps = 0;
    std::shared_ptr<const StepCostTable> costs;  // of the program's steps
};

// Who wants to hear of what the worker does; may be empty.
struct WorkerListeners {
    Listener<StepRecord>::Call on_step;
    Listener<SloMiss>::Call on_slo_miss;
    std::shared_ptr<const CallbackThreads> callbacks;
};

// Done on the worker's thread between two steps.
using BetweenSteps = std::function<Status(Executable&)>;

// Either of them.
struct Waiting {
    std::unique_ptr<RunningRequest> request;
    EvaluationJob job;
    int32_t priority() const { return request ? request->state->options().priority : 0; }
    uint64_t number() const { return request ? request->sequence : job.evaluation->plan().sequence; }
};

class Worker {
public:
    Worker(std::shared_ptr<Runtime> runtime, std::shared_ptr<const Model> model,
           std::unique_ptr<Executable> executable, std::unique_ptr<DraftModel> draft,
           std::vector<PagePool> pools, const WorkerLimits& limits, std::shared_ptr<WorkerSignal> signal,
           WorkerListeners listeners);
    // worker_driving.cpp: one of the two.

    // Throws what std::thread throws. The thread keeps its worker alive.
    static void start(const std::shared_ptr<Worker>& worker);
    // No thread: rounds are done by drive() and by those who wait.
    static void let_drive(const std::shared_ptr<Worker>& worker);
    Driven drive(Round what);
    // Cancels everything and waits for the last callback; inside one, lets the round end it.
    void stop();
    // Everything that was submitted before ends within a step.
    void cancel_all();
    // And waits for the last callback. Not inside one.
    void cancel_all_and_wait();

    std::vector<PagePool>& pools() { return pools_; }
    DraftModel* draft_model() { return speculation_.draft_model(); }  // null: none
    uint64_t next_sequence() { return next_sequence_.fetch_add(1); }
    Status submit(std::unique_ptr<RunningRequest> request);
    Status submit(EvaluationJob job);
    bool has_requests() const { return n_live_ > 0; }
    // Any thread.
    const StatisticsBoard& board() const { return board_; }
    const StepTrace& trace() const { return trace_; }
    // Steps and broken bounds, from the next one on. Any thread.
    void stop_telling() {
        step_listener_.stop();
        slo_listener_.stop();
    }

    // worker_errands.cpp: what callers do with pages and executable.

    // Number of cancel_all() so far.
    uint64_t n_cancels() const;
    // Does the work and waits for it; not inside a callback. Refused when the engine ends, and cancelled
    // after a cancel_all() more than n_cancels.
    Status between_steps(uint64_t n_cancels, const BetweenSteps& work);
    // The transfer that held the pages is over. They go back between two steps.
    using Pages = std::unique_ptr<SequencePages>;
    void begin_transfer() { ++n_transfers_; }
    void end_transfer(std::list<Pages>& node) noexcept;
    // For work between steps: a request that runs, waits or is kept.
    const RunningRequest* find(const RequestState& state) const;

private:
    using Running = std::unique_ptr<RunningRequest>;
    struct Errand;
    Status enqueue(Waiting waiting, bool limited);
    void loop();
    bool wait_for_work();
    bool has_work() const;
    bool is_stopping() const;
    void round(Round what) noexcept;
    void prepare_round();
    void compute_round();
    void end() noexcept;
    void cancel_if_asked();
    void take_incoming();
    bool end_if_over(RunningRequest& request, uint64_t now_ns);
    bool drop_if_over(Waiting& waiting, uint64_t now_ns);
    void end_what_is_over();
    // worker_admission.cpp
    static void put_in_order(std::list<Waiting>& list, std::list<Waiting>::iterator place);
    void admit();
    uint32_t n_promised_pages() const;
    bool admit_request(RunningRequest& request);
    void build_step();
    void add_decode_rows();
    void add_prompt_rows(uint32_t budget);
    bool make_room(RunningRequest& request, uint32_t n_rows);
    void preempt(RunningRequest& request);
    void take_out_preempted();
    void stamp_scheduled(RunningRequest& request, uint64_t now_ns);
    // worker_errands.cpp
    void run_errands();
    bool run_waiting_errands();
    Status run_errand(const Errand& errand) const;
    void refuse_errands() noexcept;
    // worker_kept.cpp
    void keep_or_drop(Running request) noexcept;
    void drop_let_go();
    uint32_t begin_with_known(RunningRequest& request) const;
    bool copy_pages(RunningRequest& request) const;
    bool is_alone() const;
    bool take_pages_of_waiting();
    bool give_up_first();
    bool give_up_alone(RunningRequest& request, uint32_t n_rows);
    Status with_holders(const Status& lack) const;
    bool evaluation_wants_step() const;
    void step_evaluations();
    void step_requests();
    Status run_requests(StepOutput& output, uint64_t& computed_ns);
    void take_outputs(const StepOutput& output, uint64_t computed_ns);
    void take_rows(RunningRequest& request, const StepOutput& output, uint64_t computed_ns);
    void tell(RunningRequest& request);
    void finish(RunningRequest& request, FinishReason reason, Status status, uint64_t end_ns) noexcept;
    void drop_finished();
    void fail_all(StatusCode code, const char* sentence) noexcept;
    void end_everything() noexcept;
    // worker_slide.cpp
    void slide_full_contexts();
    static Status context_full(const RunningRequest& request);
    // worker_statistics.cpp
    void record_step(uint64_t begin_ns, uint64_t end_ns, uint32_t n_decode_rows, uint32_t n_prefill_rows,
                     uint32_t prefill_budget) noexcept;
    void count_outputs();
    void record_cost(const StepBatch& batch) noexcept;
    void record_drafts(const RunningRequest& request, uint32_t n_accepted) noexcept;
    void record_end(RunningRequest& request, FinishReason reason, uint64_t end_ns) noexcept;
    void watch_promises(uint64_t now_ns);
    void publish_statistics() noexcept;
    uint32_t n_running() const noexcept;

    const std::shared_ptr<Runtime> runtime_;
    const std::shared_ptr<const Model> model_;
    std::unique_ptr<Executable> executable_;
    std::vector<PagePool> pools_;
    const WorkerLimits limits_;
    const std::shared_ptr<WorkerSignal> signal_;
    StepBuilder step_;
    ChunkBudget budget_;
    uint32_t n_decode_rows_ = 0, prefill_budget_ = 0;  // of the step that was built
    TokenChooser chooser_;
    Speculation speculation_;
    std::atomic<uint64_t> next_sequence_{1};
    std::atomic<uint32_t> n_live_{0};  // requests that wait or run

    // Guarded by signal_->mutex. Lists, so that the worker takes what came without allocating.
    std::list<Waiting> incoming_;
    bool stopping_ = false;
    uint64_t n_cancels_asked_ = 0, n_cancels_done_ = 0;
    std::vector<Errand*> errands_;
    std::list<Pages> given_back_;

    // The worker's own.
    std::list<Waiting> waiting_;
    std::vector<Running> running_;  // who is served first stands first
    std::list<Running> kept_;       // ended, with their pages
    std::vector<EvaluationJob> evaluations_;
    std::vector<Errand*> current_errands_;
    std::chrono::nanoseconds last_step_{
        0};                                 // by the system's clock: what transfers may take is a share of it
    uint64_t energy_read_ns_ = 0;           // when the meter was asked last
    std::atomic<uint32_t> n_transfers_{0};  // that may hold pages
    uint64_t next_deadline_ns_ = UINT64_MAX;  // of those that wait
    uint64_t seen_version_ = 0;
    bool pages_came_free_ = false;
    Totals totals_;  // but for what is recorded of a request at its end
    PageWaste page_waste_;
    StatisticsBoard board_;
    GapKeeper gaps_;
    Listener<StepRecord> step_listener_;
    Listener<SloMiss> slo_listener_;
    SloWatch slo_watch_;
    StepTrace trace_;
    StepRecord record_;  // of the last step
    std::thread thread_;
    std::mutex driving_;                   // held for a round that is driven
    std::atomic<std::thread::id> driver_;  // who is in it
};

}  // namespace takt
