// The worker's side: what a request is told, pushed to its callback or queued, and what is counted of it.
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "engine/request_state.h"

namespace takt {

Event RequestState::make_event(EventType type, uint32_t step_rows) const {
    Event event;
    event.type = type;
    event.step_rows = step_rows;
    event.request = shared_.number;
    event.n_slides = timeline_.n_slides;
    event.cached_tokens = static_cast<uint32_t>(timeline_.cached_tokens);
    event.dropped_tokens = timeline_.dropped_tokens;
    event.submitted_ns = timeline_.submitted_ns;
    event.scheduled_ns = timeline_.scheduled_ns.value_or(UINT64_MAX);
    event.computed_ns = event.ready_ns = UINT64_MAX;
    return event;
}

void RequestState::store(const Event& event, std::string_view text) {
    const size_t begin = text_.size();
    text_ += text;
    events_.push_back({event, begin, text.size()});
}

// Nothing is locked meanwhile: the callback may cancel, submit and ask for times.
bool RequestState::deliver(const OnEvent& on_event, Event event) {
    event.delivered_ns = shared_.clock->now_ns();
    const CallbackThreads::Scope scope(shared_.callbacks.get());
    std::string thrown;
    try {
        const bool go_on = on_event(event);
        if (!go_on) cancelled_ = true;
        return go_on;
    } catch (...) {
        thrown = what_was_thrown();
    }
    const std::lock_guard lock(mutex_);
    callback_failure_ = Status(StatusCode::internal, fmt::format("The event callback threw: {}.", thrown));
    if (reason_ != FinishReason::none) {  // the engine was ahead of a blocking call's callback
        reason_ = FinishReason::error;
        status_ = callback_failure_;
    }
    cancelled_ = true;
    return false;
}

bool RequestState::deliver_timed(const Event& event, uint64_t& callback_ns) {
    const uint64_t begin_ns = shared_.clock->now_ns();
    const bool go_on = deliver(options_.on_event, event);
    callback_ns += elapsed_ns(begin_ns, shared_.clock->now_ns());
    return go_on;
}

Status RequestState::callback_failure() const {
    const std::lock_guard lock(mutex_);
    return callback_failure_;
}

void RequestState::stamp_scheduled(uint64_t now_ns, uint32_t n_cached) {
    const std::lock_guard lock(mutex_);
    if (!timeline_.scheduled_ns) timeline_.scheduled_ns = now_ns;
    timeline_.cached_tokens = n_cached;
}

void RequestState::stamp_handover(uint64_t begin_ns, uint64_t ns) {
    const std::lock_guard lock(mutex_);
    timeline_.scheduled_ns = begin_ns;
    timeline_.handover_ns = ns;
}

void RequestState::count_preemption() {
    const std::lock_guard lock(mutex_);
    ++timeline_.n_preemptions;
}

void RequestState::count_preempted_time(uint64_t ns) {
    const std::lock_guard lock(mutex_);
    timeline_.preempted_ns += ns;
}

void RequestState::count_slide(uint32_t n_dropped) {
    const std::lock_guard lock(mutex_);
    ++timeline_.n_slides;
    timeline_.dropped_tokens += n_dropped;
}

void RequestState::count_computed(uint32_t n_prompt_tokens) {
    const std::lock_guard lock(mutex_);
    timeline_.computed_tokens += n_prompt_tokens;
}

void RequestState::count_drafts(uint32_t n_drafted, uint32_t n_accepted) {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < n_drafted; ++i) ++timeline_.drafted[i];
    for (uint32_t i = 0; i < n_accepted; ++i) ++timeline_.accepted[i];
}

void RequestState::count_draft_time(uint64_t ns) {
    const std::lock_guard lock(mutex_);
    timeline_.draft_ns += ns;
}

void RequestState::count_stalled_others(uint64_t ns) {
    const std::lock_guard lock(mutex_);
    timeline_.stalled_others_ns += ns;
}

// The first token of a step opens its stamp, and closes the gap before it.
void RequestState::begin_step(const StepTokens& step) {
    timeline_.steps.push_back(step.stamp);
    timeline_.gaps += step.gap;
    if (step.gap.total_ns > timeline_.longest_gap.total_ns) timeline_.longest_gap = step.gap;
    if (step.gap.other_prefill_ns > 0) timeline_.stalled_by = step.stalled_by;
}

RequestState::Told RequestState::push_tokens(const StepTokens& step) {
    Told told;
    for (uint32_t i = 0; i < step.tokens.size(); ++i) {
        const ChosenToken& token = step.tokens[i];
        const std::string_view own_text = step.text.substr(token.text_begin, token.text_bytes);
        Event event;
        {
            const std::lock_guard lock(mutex_);
            if (i == 0) begin_step(step);
            timeline_.steps.back().n_tokens = i + 1;
            generated_.push_back(token.id);
            event = make_event(EventType::token, step.step_rows);
            if (i == 0) event.gap = step.gap;
            event.token_id = token.id;
            event.token_index = n_tokens_++;
            event.step_token_index = i;
            event.step_tokens = static_cast<uint32_t>(step.tokens.size());
            event.computed_ns = step.stamp.computed_ns;
            event.ready_ns = step.stamp.sampled_ns;
            event.compute_ns = step.stamp.compute_ns;
            if (!pushes()) store(event, own_text);
        }
        event.text = own_text;
        told.n_tokens = i + 1;
        if (pushes() && !deliver_timed(event, told.callback_ns)) return told;
    }
    if (!pushes()) changed_.notify_all();
    return told;
}

uint64_t RequestState::finish(FinishReason reason, Status status, std::string_view rest, uint64_t now_ns,
                              uint32_t step_rows) noexcept {
    Event event;
    uint64_t callback_ns = 0;
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
        if (!pushes()) {
            try {
                store(event, rest);
            } catch (const std::bad_alloc&) {
                events_.push_back({event, 0, 0});  // its place was reserved; the held-back text is lost
            }
        }
    }
    event.text = rest;
    if (pushes()) {
        try {
            deliver_timed(event, callback_ns);
        } catch (const std::bad_alloc&) {
            cancelled_ = true;  // too late to matter
        }
    }
    end_of_callbacks();
    return callback_ns;
}

void RequestState::end_of_callbacks() noexcept {
    bool releases = false;
    {
        const std::lock_guard lock(mutex_);
        done_ = true;
        releases = abandoned_;
    }
    changed_.notify_all();
    if (!releases) return;
    const CallbackThreads::Scope scope(shared_.callbacks.get());
    release();
}

// What the callbacks hold goes with them.
void RequestState::release() noexcept {
    try {
        if (options_.on_release) options_.on_release();
        options_.on_event = nullptr;
        options_.on_release = nullptr;
    } catch (...) {
        options_.on_release = nullptr;  // it was told; what it throws is its own affair
    }
}

}  // namespace takt
