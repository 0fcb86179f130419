// What the engine's worker and a request's handle share: stamps, events, the end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/callback_guard.h"
#include "engine/request.h"
#include "engine/worker_signal.h"

namespace takt {

// A token that a step gave, and its part of the step's text.
struct ChosenToken {
    int32_t id = -1;
    uint32_t text_begin = 0, text_bytes = 0;
};

class RequestState {
public:
    struct Shared {
        std::shared_ptr<const Clock> clock;
        std::shared_ptr<CallbackThreads> callbacks;
        std::shared_ptr<WorkerSignal> signal;
        std::string backend;
        uint64_t number = 0;  // of the request
        Slo slo;
    };
    using OnEvent = std::function<bool(const Event&)>;
    // max_events: tokens that can come at most; memory for them is taken here.
    RequestState(RequestOptions options, Shared shared, uint64_t submitted_ns, uint32_t max_events);

    // --- the handle's side ---
    Result<Event> next(uint64_t timeout_ns);
    Status wait(uint64_t timeout_ns);
    Status pump(const OnEvent& on_event);
    void cancel();
    // Cancels; waits for the last callback unless called inside one, then runs on_release once.
    void abandon();
    Status status() const;
    FinishReason finish_reason() const;
    Timeline timeline() const;
    TimingSummary timing() const;
    const RequestOptions& options() const { return options_; }
    // The prompt and every token that was told, or is being told.
    std::vector<int32_t> tokens() const;
    std::string_view backend_name() const { return shared_.backend; }
    uint64_t number() const { return shared_.number; }
    const Slo& slo() const { return shared_.slo; }

    // --- the worker's side, the only writer of the timeline ---
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
    bool let_go() const { return let_go_; }  // its handle is gone
    // What a callback threw, or ok.
    Status callback_failure() const;
    // The first step that holds a row of it. n_cached: positions of the prompt that needed no computing.
    void stamp_scheduled(uint64_t now_ns, uint32_t n_cached);
    void count_preemption();
    void count_preempted_time(uint64_t ns);
    void count_slide(uint32_t n_dropped);
    void count_computed(uint32_t n_prompt_tokens);
    void count_drafts(uint32_t n_drafted, uint32_t n_accepted);
    void count_draft_time(uint64_t ns);
    void count_stalled_others(uint64_t ns);
    // Its state began to come at begin_ns, and was here after so long.
    void stamp_handover(uint64_t begin_ns, uint64_t ns);
    // Tokens of a step, and what the gap before them was spent on.
    struct StepTokens {
        std::span<const ChosenToken> tokens;
        std::string_view text;  // of all of them; copied where it must live on
        const StepStamp& stamp;
        const GapParts& gap;
        const StallList& stalled_by;
        uint32_t step_rows = 0;
    };
    // How many were told, and how long callbacks took meanwhile.
    struct Told {
        uint32_t n_tokens = 0;
        uint64_t callback_ns = 0;
    };
    // Queues or delivers the tokens one by one; with a callback those that it still wants.
    Told push_tokens(const StepTokens& step);
    // Returns what callbacks took.
    uint64_t finish(FinishReason reason, Status status, std::string_view rest, uint64_t now_ns,
                    uint32_t step_rows) noexcept;
    // Nobody else writes it, so that the worker reads it without a lock.
    const Timeline& own_timeline() const { return timeline_; }

private:
    struct StoredEvent {
        Event event;
        size_t text_begin = 0, text_bytes = 0;
    };
    Event make_event(EventType type, uint32_t step_rows) const;
    void store(const Event& event, std::string_view text);
    void begin_step(const StepTokens& step);
    Result<Event> pull(uint64_t timeout_ns);
    // False: the callback wants no more.
    bool deliver(const OnEvent& on_event, Event event);
    // The same on the worker's thread, with what it took.
    bool deliver_timed(const Event& event, uint64_t& callback_ns);
    void end_of_callbacks() noexcept;
    void release() noexcept;
    bool pushes() const { return pushes_; }

    RequestOptions options_;
    const Shared shared_;
    const bool pushes_;  // events go to options_.on_event
    std::atomic<bool> cancelled_{false}, let_go_{false};

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Timeline timeline_;
    std::vector<int32_t> generated_;
    std::vector<StoredEvent> events_;
    std::string text_;  // of the queued events, one behind the other
    size_t n_pulled_ = 0;
    uint32_t n_tokens_ = 0;
    std::string pulled_text_;  // what the last pulled event borrows
    FinishReason reason_ = FinishReason::none;
    Status status_;
    Status callback_failure_;
    bool done_ = false;       // the last callback returned
    bool abandoned_ = false;  // destroyed inside a callback: the worker releases
};

}  // namespace takt
