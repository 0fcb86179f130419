// Who does the worker's rounds: a thread of its own, or whoever calls step() or waits.
#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include "base/os.h"
#include "engine/worker.h"

namespace takt {
namespace {

constexpr std::chrono::milliseconds kDeadlinePoll{
    2};  // only while requests with deadlines wait for pages that nothing frees

}  // namespace

void Worker::start(const std::shared_ptr<Worker>& worker) {
    worker->thread_ = os::start_quiet_thread("takt-engine", [worker] { worker->loop(); });
}

void Worker::let_drive(const std::shared_ptr<Worker>& worker) {
    worker->signal_->drive = [weak = std::weak_ptr<Worker>(worker)](Round round) {
        const std::shared_ptr<Worker> held = weak.lock();
        return held ? held->drive(round) : Driven::idle;
    };
}

void Worker::stop() {
    {
        const std::lock_guard lock(signal_->mutex);
        stopping_ = true;
    }
    signal_->notify();
    if (signal_->drive) {
        if (signal_->forked() || driver_ == std::this_thread::get_id()) return;  // the round ends it
        const std::lock_guard turn(driving_);
        end();
    } else if (thread_.get_id() == std::this_thread::get_id() || signal_->forked()) {
        thread_.detach();
    } else {
        thread_.join();
    }
}

void Worker::cancel_all() {
    {
        const std::lock_guard lock(signal_->mutex);
        ++n_cancels_asked_;
    }
    signal_->notify();
}

void Worker::cancel_all_and_wait() {
    if (signal_->forked()) return;
    cancel_all();
    std::unique_lock lock(signal_->mutex);
    const uint64_t mine = n_cancels_asked_;
    wait_for(*signal_, signal_->changed, lock, UINT64_MAX, Round::without_step,
             [&] { return n_cancels_done_ >= mine; });
}

void Worker::loop() {
    while (wait_for_work()) round(Round::with_step);
    end();
}

Driven Worker::drive(Round what) {
    if (driver_ == std::this_thread::get_id()) return Driven::busy;  // inside a callback of its own round
    const std::unique_lock turn(driving_, std::try_to_lock);
    if (!turn) return Driven::busy;
    if (is_stopping()) return Driven::idle;
    driver_ = std::this_thread::get_id();
    round(what);
    if (is_stopping()) end();  // its last owner was a callback
    driver_ = std::thread::id();
    return has_work() ? Driven::stepped : Driven::idle;
}

bool Worker::is_stopping() const {
    const std::lock_guard lock(signal_->mutex);
    return stopping_;
}

// A round would bring something forward.
bool Worker::has_work() const {
    return !running_.empty() || (pages_came_free_ && !waiting_.empty());
}

// False when the engine ends. Returns at once while there is something to compute.
bool Worker::wait_for_work() {
    std::unique_lock lock(signal_->mutex);
    const auto changed = [&] { return stopping_ || signal_->version != seen_version_; };
    if (!has_work() && !changed()) {
        if (waiting_.empty() || std::min(next_deadline_ns_, slo_watch_.next_ns()) == UINT64_MAX) {
            signal_->changed.wait(lock, changed);
        } else {
            signal_->changed.wait_for(lock, kDeadlinePoll, changed);
        }
    }
    seen_version_ = signal_->version;
    return !stopping_;
}

void Worker::round(Round what) noexcept {
    try {
        prepare_round();
        if (what == Round::with_step) compute_round();
    } catch (const std::bad_alloc&) {
        fail_all(StatusCode::out_of_memory, "Memory ran out during a step.");
    } catch (...) {
        fail_all(StatusCode::internal, "A step of the engine threw an exception.");
    }
    publish_statistics();
}

// All that needs no step.
void Worker::prepare_round() {
    const uint64_t now_ns = runtime_->clock().now_ns();
    for (PagePool& pool : pools_) pool.set_time(now_ns);
    cancel_if_asked();
    drop_let_go();
    take_incoming();
    run_errands();
    end_what_is_over();
}

void Worker::compute_round() {
    if (running_.empty() && evaluations_.empty() && waiting_.empty()) return;
    admit();
    step_evaluations();
    step_requests();
}

void Worker::end() noexcept {
    end_everything();
    refuse_errands();
    kept_.clear();
}

}  // namespace takt
