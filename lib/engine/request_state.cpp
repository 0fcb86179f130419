// The handle's side: events pulled, the end waited for, numbers asked for.
#include "engine/request_state.h"

#include <fmt/format.h>

namespace takt {
namespace {

constexpr size_t kTextBytesPerToken =
    16;  // sized at submit; most tokens are shorter, and few texts longer on average

Status inside_callback(std::string_view what) {
    return Status(StatusCode::invalid_state,
                  fmt::format("{} waits, which is not possible inside a callback of the same engine.", what));
}

Status in_forked_child(std::string_view what) {
    return Status(
        StatusCode::invalid_state,
        fmt::format("{} is not possible in a forked child: the engine's thread is its parent's.", what));
}

}  // namespace

RequestState::RequestState(RequestOptions options, Shared shared, uint64_t submitted_ns, uint32_t max_events)
    : options_(std::move(options)),
      shared_(std::move(shared)),
      pushes_(static_cast<bool>(options_.on_event)) {
    timeline_.submitted_ns = submitted_ns;
    timeline_.turn = options_.turn;
    timeline_.prompt_tokens = options_.prompt_ids.size();
    timeline_.steps.reserve(max_events);
    generated_.reserve(max_events);
    if (pushes()) return;
    events_.reserve(size_t{max_events} + 1);
    text_.reserve(max_events * kTextBytesPerToken);
    pulled_text_.reserve(256);
}

Result<Event> RequestState::next(uint64_t timeout_ns) {
    if (shared_.callbacks->contains_this_thread()) return inside_callback("Pulling an event");
    if (pushes())
        return Status(StatusCode::invalid_state,
                      "The request has a callback, so its events can't be pulled.");
    return pull(timeout_ns);
}

Result<Event> RequestState::pull(uint64_t timeout_ns) {
    if (shared_.signal->forked()) return in_forked_child("Pulling an event");
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return n_pulled_ < events_.size() || done_; };
    if (!wait_for(*shared_.signal, changed_, lock, timeout_ns, Round::with_step, ready)) {
        return Status(StatusCode::timed_out, fmt::format("No event came within {} ns.", timeout_ns));
    }
    if (n_pulled_ == events_.size())
        return Status(StatusCode::invalid_state, "The request's finished event was given already.");
    const StoredEvent& stored = events_[n_pulled_];
    pulled_text_.assign(text_, stored.text_begin, stored.text_bytes);
    ++n_pulled_;
    Event event = stored.event;
    event.text = pulled_text_;
    event.delivered_ns = shared_.clock->now_ns();
    return event;
}

Status RequestState::pump(const OnEvent& on_event) {
    if (shared_.callbacks->contains_this_thread()) return inside_callback("Running a request to its end");
    if (pushes())
        return Status(StatusCode::invalid_state,
                      "The request has a callback, so its events can't be pulled.");
    bool go_on = true;
    while (true) {
        Result<Event> event = pull(UINT64_MAX);
        if (!event.ok()) return event.status();
        const bool is_last = event->type == EventType::finished;
        if (is_last) {  // a callback that threw may have changed it since it was stored
            const std::lock_guard lock(mutex_);
            event->finish_reason = reason_;
            event->status = status_.code();
            event->message = status_.message();
        }
        if (on_event && (is_last || go_on)) {
            go_on = deliver(on_event, *event);
            if (!go_on) cancel();
        }
        if (is_last) return wait(UINT64_MAX);
    }
}

Status RequestState::wait(uint64_t timeout_ns) {
    if (shared_.callbacks->contains_this_thread()) return inside_callback("Waiting for a request");
    if (shared_.signal->forked()) return in_forked_child("Waiting for a request");
    std::unique_lock lock(mutex_);
    const auto ended = [&] { return done_; };
    if (wait_for(*shared_.signal, changed_, lock, timeout_ns, Round::with_step, ended)) return Status();
    return Status(StatusCode::timed_out, fmt::format("The request did not end within {} ns.", timeout_ns));
}

void RequestState::cancel() {
    cancelled_ = true;
    shared_.signal->cancelled = true;
    shared_.signal->notify();
}

void RequestState::abandon() {
    if (shared_.signal->forked()) return release();
    let_go_ = true;
    if (options_.keep_state) shared_.signal->let_go = true;
    cancel();
    const bool inside = shared_.callbacks->contains_this_thread();
    {
        std::unique_lock lock(mutex_);
        if (!done_ && inside) {
            abandoned_ = true;  // end_of_callbacks() releases
            return;
        }
        wait_for(*shared_.signal, changed_, lock, UINT64_MAX, Round::without_step, [&] { return done_; });
    }
    release();
}

std::vector<int32_t> RequestState::tokens() const {
    std::vector<int32_t> all = options_.prompt_ids;
    const std::lock_guard lock(mutex_);
    all.insert(all.end(), generated_.begin(), generated_.end());
    return all;
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

TimingSummary RequestState::timing() const {
    return summarize_timeline(timeline(), shared_.clock->now_ns());
}

}  // namespace takt
