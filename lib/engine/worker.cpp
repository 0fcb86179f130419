// One loop: take what came, end what is over, admit, step.
#include "engine/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/os.h"

namespace takt {

namespace {

// A request whose end was told: the handle keeps its state alive, the worker forgets it.
bool is_finished(const std::unique_ptr<RunningRequest>& request) {
    return request == nullptr || request->state->finish_reason() != FinishReason::none;
}

}  // namespace

Worker::Worker(std::shared_ptr<Runtime> runtime, std::shared_ptr<const Model> model, std::unique_ptr<Executable> executable,
               std::vector<PagePool> pools, const WorkerLimits& limits, std::shared_ptr<WorkerSignal> signal)
    : runtime_(std::move(runtime)),
      model_(std::move(model)),
      executable_(std::move(executable)),
      pools_(std::move(pools)),
      limits_(limits),
      signal_(std::move(signal)),
      step_(limits.chunk_tokens + limits.max_sequences, limits.max_sequences),
      sampler_scratch_(model_->program()->vocab_size) {
    running_.reserve(limits_.max_sequences);
    thread_ = os::start_quiet_thread("takt-engine", [this] { loop(); });
}

Worker::~Worker() {
    {
        const std::lock_guard lock(signal_->mutex);
        stopping_ = true;
    }
    signal_->notify();
    thread_.join();
}

Status Worker::submit(std::unique_ptr<RunningRequest> request) {
    {
        const std::lock_guard lock(signal_->mutex);
        if (stopping_) return Status(StatusCode::invalid_state, "The engine is being destroyed.");
        if (n_waiting_ >= limits_.max_waiting) {
            return Status(StatusCode::queue_full, fmt::format("{} requests are waiting, max_waiting is {}.", n_waiting_, limits_.max_waiting));
        }
        incoming_.push_back(std::move(request));
        ++n_waiting_;
    }
    signal_->notify();
    return Status();
}

void Worker::submit(std::shared_ptr<Evaluation> evaluation) {
    {
        const std::lock_guard lock(signal_->mutex);
        incoming_evaluations_.push_back(std::move(evaluation));
    }
    signal_->notify();
}

void Worker::loop() {
    while (wait_for_work()) {
        try {
            take_incoming();
            const uint64_t now_ns = runtime_->clock().now_ns();
            end_cancelled(waiting_, now_ns);
            end_cancelled(running_, now_ns);
            admit();
            run_evaluations();
            run_requests();
        } catch (const std::bad_alloc&) {
            fail_all(Status(StatusCode::out_of_memory, "Memory ran out while a step was computed."));
        } catch (const std::exception& error) {
            fail_all(Status(StatusCode::internal, fmt::format("A step failed: {}", error.what())));
        }
    }
    take_incoming();
    for (auto& request : waiting_) finish(*request, FinishReason::cancelled);
    for (auto& request : running_) finish(*request, FinishReason::cancelled);
    for (auto& evaluation : evaluations_) evaluation->fail(Status(StatusCode::cancelled, "The engine was destroyed."));
    waiting_.clear();
    running_.clear();
}

// False when the engine ends. Returns at once while something runs.
bool Worker::wait_for_work() {
    std::unique_lock lock(signal_->mutex);
    const auto changed = [&] { return stopping_ || signal_->version != seen_version_; };
    if (running_.empty()) {
        if (waiting_.empty()) {
            signal_->changed.wait(lock, changed);
        } else {
            // Only an evaluation can hold the pages they wait for; deadlines are looked at meanwhile.
            signal_->changed.wait_for(lock, std::chrono::milliseconds(2), changed);
        }
    }
    seen_version_ = signal_->version;
    return !stopping_;
}

void Worker::take_incoming() {
    const std::lock_guard lock(signal_->mutex);
    for (auto& request : incoming_) waiting_.push_back(std::move(request));
    incoming_.clear();
    for (auto& evaluation : incoming_evaluations_) evaluations_.push_back(std::move(evaluation));
    incoming_evaluations_.clear();
    n_waiting_ = waiting_.size();
}

bool Worker::end_if_over(RunningRequest& request, uint64_t now_ns) {
    const RequestOptions& options = request.state->options();
    if (request.state->cancelled()) {
        finish(request, FinishReason::cancelled);
    } else if (options.deadline_ns != 0 && now_ns >= options.deadline_ns) {
        finish(request, FinishReason::deadline);
    } else if (options.max_tokens == 0) {
        finish(request, FinishReason::length);
    } else {
        return false;
    }
    return true;
}

void Worker::end_cancelled(std::deque<Running>& requests, uint64_t now_ns) {
    std::erase_if(requests, [&](const Running& request) { return end_if_over(*request, now_ns); });
}

void Worker::end_cancelled(std::vector<Running>& requests, uint64_t now_ns) {
    std::erase_if(requests, [&](const Running& request) { return end_if_over(*request, now_ns); });
}

// First come, first served: a request that doesn't fit yet holds back those behind it, so that it isn't starved.
void Worker::admit() {
    while (!waiting_.empty() && running_.size() < limits_.max_sequences) {
        RunningRequest& request = *waiting_.front();
        if (!request.pages->reserve(request.max_total, limits_.chunk_tokens)) break;
        running_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    const std::lock_guard lock(signal_->mutex);
    n_waiting_ = waiting_.size() + incoming_.size();
}

// Engines of a runtime take turns; the turn ends before anyone is called back.
Result<StepOutput> Worker::run_step() {
    const std::lock_guard lock(runtime_->pool_mutex());
    const uint64_t begin_ns = runtime_->clock().now_ns();
    for (const auto& request : running_) {
        if (request->n_rows > 0 && request->n_computed == 0) request->state->stamp_scheduled(begin_ns);
    }
    return executable_->run(step_.batch());
}

void Worker::run_evaluations() {
    std::erase_if(evaluations_, [](const auto& evaluation) { return evaluation->closed.load(); });
    for (const auto& evaluation : evaluations_) {
        if (!evaluation->wants_step()) continue;
        if (!evaluation->admitted) evaluation->admitted = evaluation->pages->reserve(evaluation->ids.size(), limits_.chunk_tokens);
        if (!evaluation->admitted) {
            if (running_.empty() && evaluations_.size() == 1) {
                evaluation->fail(Status(StatusCode::internal, "No pages are free although nothing runs."));
            }
            continue;
        }
        const uint32_t n_rows = evaluation->next_rows(limits_.chunk_tokens, limits_.max_output_rows);
        for (const auto& request : running_) request->n_rows = 0;
        step_.build(*evaluation, n_rows);
        const auto output = run_step();
        Status status = output.ok() ? executable_->commit(evaluation->sequence, n_rows) : output.status();
        if (status.ok()) {
            evaluation->give(n_rows, *output);
        } else {
            evaluation->fail(std::move(status));
        }
    }
}

void Worker::run_requests() {
    step_.build(running_, limits_.chunk_tokens);
    if (step_.empty()) return;
    const auto output = run_step();
    if (!output.ok()) {
        for (const auto& request : running_) {
            if (request->n_rows > 0) finish(*request, FinishReason::error, output.status());
        }
    } else {
        sample_outputs(*output, runtime_->clock().now_ns());
    }
    drop_finished();
}

void Worker::sample_outputs(const StepOutput& output, uint64_t computed_ns) {
    size_t output_row = 0;
    for (const auto& request : running_) {
        if (request->n_rows == 0) continue;
        if (Status status = executable_->commit(request->sequence, request->n_rows); !status.ok()) {
            finish(*request, FinishReason::error, std::move(status));
            continue;
        }
        if (request->in_prefill()) request->prefill_compute_ns += output.compute_ns;
        request->n_computed += request->n_rows;
        if (request->n_computed < request->tokens.size()) continue;   // more prompt to come
        // Outputs stand in row order; requests may not.
        const uint32_t row = request->first_row + request->n_rows - 1;
        output_row = static_cast<size_t>(std::lower_bound(output.rows.begin(), output.rows.end(), row) - output.rows.begin());
        const auto id = choose(*request, output, output_row);
        if (!id.ok()) {
            finish(*request, FinishReason::error, id.status());
            continue;
        }
        StepStamp stamp;
        stamp.computed_ns = computed_ns;
        stamp.sampled_ns = runtime_->clock().now_ns();
        stamp.compute_ns = request->n_generated() == 0 ? request->prefill_compute_ns : output.compute_ns;
        stamp.n_tokens = 1;
        accept(*request, *id, stamp);
    }
}

Result<int32_t> Worker::choose(RunningRequest& request, const StepOutput& output, size_t output_row) {
    if (request.greedy && !output.argmax.empty()) {
        const int32_t id = output.argmax[output_row];
        if (id >= 0) return id;
        return Status(StatusCode::logits_not_finite, fmt::format("The logits are not finite at generated token {}.", request.n_generated()));
    }
    const size_t vocab_size = model_->program()->vocab_size;
    auto id = request.sampler.sample(output.logits.subspan(output_row * vocab_size, vocab_size), request.tokens, request.tokens.size(),
                                     sampler_scratch_);
    if (id.ok()) return id;
    return Status(id.status().code(), fmt::format("At generated token {}: {}", request.n_generated(), id.status().message()));
}

// A token was sampled: its text, its event, and whether it was the last.
void Worker::accept(RunningRequest& request, int32_t id, const StepStamp& stamp) {
    const RequestOptions& options = request.state->options();
    const bool ends = std::find(options.stop_ids.begin(), options.stop_ids.end(), id) != options.stop_ids.end() ||
                      (!options.ignore_eos && model_->tokenizer()->is_end_of_generation(id));
    request.tokens.push_back(id);
    const std::string_view text = ends ? std::string_view() : request.text.append(id);
    request.state->push_token(id, text, stamp, step_.n_rows());
    if (ends || request.text.stopped()) {
        finish(request, FinishReason::stop);
    } else if (request.state->cancelled()) {
        finish(request, FinishReason::cancelled);
    } else if (request.n_generated() == options.max_tokens) {
        finish(request, FinishReason::length);
    } else if (request.tokens.size() == request.max_total) {
        finish(request, FinishReason::context_full);
    }
}

void Worker::finish(RunningRequest& request, FinishReason reason, Status status) {
    request.pages->release();
    const std::string_view rest = request.text.flush();
    request.state->finish(reason, std::move(status), rest, runtime_->clock().now_ns(), step_.n_rows());
}

void Worker::drop_finished() { std::erase_if(running_, is_finished); }

void Worker::fail_all(const Status& status) {
    for (auto& request : running_) {
        if (!is_finished(request)) finish(*request, FinishReason::error, status);
    }
    running_.clear();
    for (auto& evaluation : evaluations_) evaluation->fail(status);
    evaluations_.clear();
}

}  // namespace takt
