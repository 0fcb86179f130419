// Events pushed or queued, and who may wait for them.
#include "engine/request_state.h"

#include <fmt/format.h>

#include <chrono>

namespace takt {

namespace {

constexpr size_t kTextBytesPerToken = 16;   // sized at submit; most tokens are shorter, and few texts longer on average

// Waits until ready(); false when the time is over. UINT64_MAX waits for ever.
template <typename Ready>
bool wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, uint64_t timeout_ns, Ready ready) {
    constexpr uint64_t kLongestNs = uint64_t{3600} * 24 * 365 * 1'000'000'000;
    if (timeout_ns >= kLongestNs) {
        changed.wait(lock, ready);
        return true;
    }
    return changed.wait_for(lock, std::chrono::nanoseconds(timeout_ns), ready);
}

Status inside_callback(std::string_view call) {
    return Status(StatusCode::invalid_state, fmt::format("{} waits, and inside a callback nothing may wait.", call));
}

}  // namespace

RequestState::RequestState(RequestOptions options, Shared shared, uint64_t submitted_ns, uint32_t max_events)
    : options_(std::move(options)), shared_(std::move(shared)) {
    timeline_.submitted_ns = submitted_ns;
    timeline_.prompt_tokens = options_.prompt_ids.size();
    timeline_.steps.reserve(max_events);
    if (!pushes()) {
        events_.reserve(size_t{max_events} + 1);
        text_.reserve(max_events * kTextBytesPerToken);
        pulled_text_.reserve(256);
    }
}

Event RequestState::make_event(EventType type, uint32_t step_rows) const {
    Event event;
    event.type = type;
    event.step_rows = step_rows;
    event.submitted_ns = timeline_.submitted_ns;
    event.scheduled_ns = timeline_.scheduled_ns.value_or(UINT64_MAX);
    event.computed_ns = event.ready_ns = UINT64_MAX;
    return event;
}

void RequestState::store(const Event& event, std::string_view text) {
    events_.push_back({event, text_.size(), text.size()});
    text_ += text;
}

void RequestState::deliver(Event event, std::string_view text) {
    event.text = text;
    event.delivered_ns = shared_.clock->now_ns();
    const CallbackThreads::Scope scope(*shared_.callbacks);
    bool go_on = false;
    try {
        go_on = options_.on_event(event);
    } catch (...) {
        go_on = false;   // a callback that throws wants no more
    }
    if (!go_on) cancelled_ = true;
}

void RequestState::stamp_scheduled(uint64_t now_ns) {
    const std::lock_guard lock(mutex_);
    if (!timeline_.scheduled_ns) timeline_.scheduled_ns = now_ns;
}

void RequestState::push_token(int32_t id, std::string_view text, const StepStamp& step, uint32_t step_rows) {
    Event event;
    {
        const std::lock_guard lock(mutex_);
        timeline_.steps.push_back(step);
        event = make_event(EventType::token, step_rows);
        event.token_id = id;
        event.token_index = n_tokens_++;
        event.computed_ns = step.computed_ns;
        event.ready_ns = step.sampled_ns;
        event.compute_ns = step.compute_ns;
        if (!pushes()) store(event, text);
    }
    if (pushes()) {
        deliver(event, text);
    } else {
        changed_.notify_all();
    }
}

void RequestState::finish(FinishReason reason, Status status, std::string_view rest, uint64_t now_ns, uint32_t step_rows) {
    Event event;
    {
        const std::lock_guard lock(mutex_);
        timeline_.finished_ns = now_ns;
        reason_ = reason;
        status_ = std::move(status);
        event = make_event(EventType::finished, step_rows);
        event.token_index = n_tokens_;
        event.finish_reason = reason_;
        event.status = status_.code();
        event.message = status_.message();
        event.ready_ns = now_ns;
        if (!timeline_.steps.empty()) event.computed_ns = timeline_.steps.back().computed_ns;
        if (!pushes()) store(event, rest);
    }
    if (pushes()) deliver(event, rest);
    end_of_callbacks();
}

void RequestState::end_of_callbacks() {
    bool release = false;
    {
        const std::lock_guard lock(mutex_);
        done_ = true;
        release = abandoned_ && !released_;
        released_ = released_ || release;
    }
    changed_.notify_all();
    if (release && options_.on_release) options_.on_release();
}

Result<Event> RequestState::next(uint64_t timeout_ns) {
    if (shared_.callbacks->contains_this_thread()) return inside_callback("takt_request_next");
    if (pushes()) return Status(StatusCode::invalid_state, "The request has a callback, so its events can't be pulled.");
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return n_pulled_ < events_.size() || done_; };
    if (!wait_until(changed_, lock, timeout_ns, ready)) {
        return Status(StatusCode::timed_out, fmt::format("No event came within {} ns.", timeout_ns));
    }
    if (n_pulled_ == events_.size()) return Status(StatusCode::invalid_state, "The request's finished event was given already.");
    const StoredEvent& stored = events_[n_pulled_++];
    pulled_text_.assign(text_, stored.text_begin, stored.text_bytes);
    Event event = stored.event;
    event.text = pulled_text_;
    event.delivered_ns = shared_.clock->now_ns();
    return event;
}

Status RequestState::wait(uint64_t timeout_ns) {
    if (shared_.callbacks->contains_this_thread()) return inside_callback("takt_request_wait");
    std::unique_lock lock(mutex_);
    if (wait_until(changed_, lock, timeout_ns, [&] { return done_; })) return Status();
    return Status(StatusCode::timed_out, fmt::format("The request did not end within {} ns.", timeout_ns));
}

void RequestState::cancel() {
    cancelled_ = true;
    shared_.signal->notify();
}

void RequestState::abandon() {
    cancel();
    {
        std::unique_lock lock(mutex_);
        if (!done_ && shared_.callbacks->contains_this_thread()) {
            abandoned_ = true;   // end_of_callbacks() releases
            return;
        }
        changed_.wait(lock, [&] { return done_; });
        if (released_) return;
        released_ = true;
    }
    if (options_.on_release) options_.on_release();
}

Status RequestState::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

FinishReason RequestState::finish_reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
}

Timeline RequestState::timeline() const {
    const std::lock_guard lock(mutex_);
    return timeline_;
}

TimingSummary RequestState::timing() const { return summarize_timeline(timeline(), shared_.clock->now_ns()); }

}  // namespace takt
