// Who is told what, when and in which order: one round is one step of everything that runs.
#include "engine/worker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace takt {

Worker::Worker(std::shared_ptr<Runtime> runtime, std::shared_ptr<const Model> model,
               std::unique_ptr<Executable> executable, std::unique_ptr<DraftModel> draft,
               std::vector<PagePool> pools, const WorkerLimits& limits, std::shared_ptr<WorkerSignal> signal,
               WorkerListeners listeners)
    : runtime_(std::move(runtime)),
      model_(std::move(model)),
      executable_(std::move(executable)),
      pools_(std::move(pools)),
      limits_(limits),
      signal_(std::move(signal)),
      step_(limits.max_rows, limits.max_sequences),
      budget_(limits.chunk_tokens, limits.step_gap_ns),
      chooser_(runtime_->clock(), model_->tokenizer(), model_->program()->vocab_size),
      speculation_(*runtime_, std::move(draft),
                   {limits.max_sequences, limits.max_rows, limits.max_output_rows, limits.chunk_tokens}),
      page_waste_(limits.page_tokens),
      board_(runtime_->clock().now_ns(), limits.smooth),
      step_listener_("step", std::move(listeners.on_step), listeners.callbacks, runtime_->logger(),
                     runtime_->clock()),
      slo_listener_("SLO", std::move(listeners.on_slo_miss), listeners.callbacks, runtime_->logger(),
                    runtime_->clock()),
      slo_watch_(slo_listener_),
      trace_(limits.trace_steps, limits.max_sequences) {
    running_.reserve(limits_.max_sequences);
    evaluations_.reserve(limits_.max_sequences);
    publish_statistics();
}

Status Worker::enqueue(Waiting waiting, bool limited) {
    TAKT_RETURN_IF_ERROR(signal_->refuse_in_forked_child());
    std::list<Waiting> node;
    node.push_back(std::move(waiting));
    {
        const std::lock_guard lock(signal_->mutex);
        if (stopping_) return Status(StatusCode::invalid_state, "The engine is being destroyed.");
        const uint64_t most = uint64_t{limits_.max_sequences} + limits_.max_waiting;
        if (limited && n_live_ >= most) {
            board_.record_shed(node.front().request->slo());
            return Status(
                StatusCode::queue_full,
                fmt::format(
                    "The engine holds {} requests: {} may run (max_sequences) and {} wait (max_waiting).",
                    n_live_.load(), limits_.max_sequences, limits_.max_waiting));
        }
        if (limited) ++n_live_;
        incoming_.splice(incoming_.end(), node);
    }
    signal_->notify();
    return {};
}

Status Worker::submit(std::unique_ptr<RunningRequest> request) {
    return enqueue({std::move(request), {}}, true);
}

Status Worker::submit(EvaluationJob job) {
    return enqueue({nullptr, std::move(job)}, false);
}

void Worker::take_incoming() {
    std::list<Waiting>::iterator it;
    {
        const std::lock_guard lock(signal_->mutex);
        if (incoming_.empty()) return;
        it = incoming_.begin();
        waiting_.splice(waiting_.end(), incoming_);
    }
    const uint64_t now_ns = runtime_->clock().now_ns();
    while (it != waiting_.end()) {
        const auto next = std::next(it);
        if (drop_if_over(*it, now_ns)) {
            waiting_.erase(it);
        } else {
            if (it->request) gaps_.in_callbacks(slo_watch_.look(*it->request, now_ns));
            put_in_order(waiting_, it);
        }
        it = next;
    }
}

// Each alone in its step: a caller that asks for chunks of one row gets the kernels of one row.
void Worker::step_evaluations() {
    for (const EvaluationJob& job : evaluations_) {
        Evaluation& evaluation = *job.evaluation;
        if (!evaluation.wants_step()) continue;
        const uint32_t n_rows = evaluation.next_rows();
        step_.build(job, n_rows);
        {
            const uint64_t asked_ns = runtime_->clock().now_ns();
            const Runtime::StepTurn turn(*runtime_, n_rows);
            const uint64_t begin_ns = runtime_->clock().now_ns();
            const Result<StepOutput> output = executable_->run(step_.batch());
            record_step(begin_ns, runtime_->clock().now_ns(), 0, n_rows, n_rows);
            gaps_.in_other_engines(elapsed_ns(asked_ns, begin_ns));
            gaps_.in_evaluation(record_.end_ns - record_.begin_ns, evaluation.plan().sequence);
            Status status =
                output.ok() ? executable_->commit(evaluation.plan().sequence, n_rows) : output.status();
            if (status.ok()) {
                evaluation.give(n_rows, *output);
            } else {
                evaluation.fail(std::move(status));
            }
            trace_.record(record_, {});
        }
        gaps_.in_callbacks(step_listener_.tell(record_));
    }
}

void Worker::step_requests() {
    if (running_.empty()) return;
    StepOutput output;
    uint64_t computed_ns = 0;
    const Status status = run_requests(output, computed_ns);
    if (status.ok()) {
        take_outputs(output, computed_ns);
    } else {
        for (const Running& request : running_) {
            if (request->n_rows == 0) continue;
            request->outcome.reason = FinishReason::error;
            request->outcome.status = status;
            request->outcome.end_ns = computed_ns;
        }
    }
    if (!step_.empty()) count_outputs();
    for (const Running& request : running_) tell(*request);
    if (!step_.empty()) trace_.record(record_, running_);
    drop_finished();
    slide_full_contexts();
    if (!step_.empty()) gaps_.in_callbacks(step_listener_.tell(record_));
}

// The engine's turn ends before anyone is called back.
Status Worker::run_requests(StepOutput& output, uint64_t& computed_ns) {
    gaps_.in_drafts(speculation_.propose(
        running_, budget_.prompt_rows(static_cast<uint32_t>(running_.size())), chooser_.scratch()));
    build_step();
    if (step_.empty()) return {};  // nobody had room
    const uint64_t asked_ns = runtime_->clock().now_ns();
    const Runtime::StepTurn turn(*runtime_, step_.n_rows());
    const uint64_t begin_ns = runtime_->clock().now_ns();
    gaps_.in_other_engines(elapsed_ns(asked_ns, begin_ns));
    const auto began = std::chrono::steady_clock::now();
    for (const Running& request : running_) {
        if (request->n_rows > 0) stamp_scheduled(*request, begin_ns);
    }
    const Result<StepOutput> result = executable_->run(step_.batch());
    computed_ns = runtime_->clock().now_ns();
    last_step_ = std::chrono::steady_clock::now() - began;
    record_step(begin_ns, computed_ns, n_decode_rows_, step_.n_rows() - n_decode_rows_, prefill_budget_);
    gaps_.in_step(running_, record_.end_ns - record_.begin_ns, record_.decode_rows, record_.prefill_rows,
                  speculation_.costs());
    if (!result.ok()) return result.status();
    budget_.record(n_decode_rows_, step_.n_rows() - n_decode_rows_, computed_ns - begin_ns);
    if (step_.n_rows() == n_decode_rows_) speculation_.record_step(n_decode_rows_, computed_ns - begin_ns);
    output = *result;
    return {};
}

// Its tokens, and what stays of its rows: drafts that were wrong are forgotten.
void Worker::take_rows(RunningRequest& request, const StepOutput& output, uint64_t computed_ns) {
    const bool was_first = request.n_generated() == 0;
    if (request.in_prefill() && was_first) {
        request.prefill_compute_ns += output.compute_ns;
        request.state->count_computed(request.n_rows);
        totals_.prompt_tokens_computed += request.n_rows;
    }
    uint32_t n_kept = request.n_rows - request.n_drafts;
    const bool wants_token = request.n_computed + n_kept == request.tokens.size();
    if (wants_token && request.state->options().max_tokens == 0) {  // a prompt that is to be kept
        request.outcome.reason = FinishReason::length;
        request.outcome.end_ns = computed_ns;
        // A fork or an export begins with the last token, and recurrent state must stand before it.
        if (request.pages->is_recurrent()) --n_kept;
    } else if (wants_token && !request.state->cancelled()) {
        // Outputs stand in row order; requests may not.
        const uint32_t row = request.first_row + n_kept - 1;
        const auto place =
            std::lower_bound(output.rows.begin(), output.rows.end(), row) - output.rows.begin();
        const uint32_t n_chosen = chooser_.choose(request, output, static_cast<size_t>(place), computed_ns);
        if (n_chosen > 1) n_kept += n_chosen - 1;
        if (n_chosen > 0) request.outcome.gap = gaps_.close(request, request.outcome.stamp.sampled_ns);
        record_drafts(request, Speculation::record(request, n_chosen));
    }
    const Status committed = executable_->commit(request.sequence, n_kept);
    if (!committed.ok()) {
        request.outcome.clear();
        request.outcome.reason = FinishReason::error;
        request.outcome.status = committed;
        request.outcome.end_ns = computed_ns;
        return;
    }
    request.n_computed += n_kept;
    request.pages->stand_at(request.n_computed);
    if (limits_.prefix_reuse) request.pages->publish(request.tokens, request.n_computed);
}

// All tokens are chosen and stamped before the first callback runs: a slow reader of one request is no
// other's latency.
void Worker::take_outputs(const StepOutput& output, uint64_t computed_ns) {
    for (const Running& request : running_) {
        if (request->n_rows > 0) take_rows(*request, output, computed_ns);
    }
}

void Worker::tell(RunningRequest& request) {
    RunningRequest::Outcome& outcome = request.outcome;
    if (!outcome.tokens.empty()) {
        const auto n_tokens = static_cast<uint32_t>(outcome.tokens.size());
        const RequestState::Told told =
            request.state->push_tokens({outcome.tokens, outcome.text, outcome.stamp, outcome.gap,
                                        request.gap.stalled_by, step_.n_rows()});
        gaps_.in_callbacks(told.callback_ns);
        record_.generated_tokens += told.n_tokens;
        totals_.generated_tokens += told.n_tokens;
        if (request.timeline().steps.size() > 1) totals_.decoded_tokens += told.n_tokens;
        gaps_.in_callbacks(
            slo_watch_.tokens_came(request, outcome.gap.total_ns, n_tokens, outcome.stamp.sampled_ns));
        if (told.n_tokens < n_tokens) {
            request.forget_untold(n_tokens - told.n_tokens);
            outcome.reason = FinishReason::none;
        }
    }
    if (outcome.reason == FinishReason::context_full) outcome.status = context_full(request);
    if (outcome.reason != FinishReason::none) {
        finish(request, outcome.reason, std::move(outcome.status), outcome.end_ns);
    } else if (request.state->cancelled()) {
        end_if_over(request, runtime_->clock().now_ns());
    }
}

}  // namespace takt
