// One generation, as its submitter sees it: options in; events, status and times out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sampler/sampler_chain.h"
#include "timing/finish_reason.h"
#include "timing/slo.h"
#include "timing/timeline.h"
#include "timing/timing_summary.h"

namespace takt {

enum class ContextPolicy : uint32_t { stop, slide };  // when the context is full
enum class EventType : int32_t { token = 1, finished = 2 };

// The token that ends a generation (end-of-generation, stop id) was computed and sampled: it is an event
// without text and counts as generated.
struct Event {
    EventType type{};
    std::string_view text;     // borrowed until the callback returns or the next pull
    std::string_view message;  // finished: the status' sentence
    int32_t token_id = -1;
    uint32_t token_index = 0;
    FinishReason finish_reason = FinishReason::none;
    StatusCode status = StatusCode::ok;
    uint32_t step_rows = 0;
    uint32_t step_token_index = 0, step_tokens = 0;  // of the tokens that its step gave this request
    uint32_t n_slides = 0;                           // of the context, before this token was computed
    uint64_t dropped_tokens = 0;                     // that slid out of it
    uint32_t cached_tokens = 0;                      // of the prompt, from earlier work
    uint64_t request = 0;                            // its number among those of the engine
    GapParts gap;  // before the tokens of its step; of the first of them alone
    uint64_t submitted_ns = 0, scheduled_ns = 0, computed_ns = 0, ready_ns = 0, delivered_ns = 0,
             compute_ns = 0;
};

// Where guesses at the next tokens come from; they are verified several in a step, and tokens are the same.
enum class DraftSource : uint32_t {
    automatic,  // the engine's draft model, if it has one
    none,
    ngram,  // what followed the same tokens earlier in this text
    model,
};

struct RequestOptions {
    std::vector<int32_t> prompt_ids;
    uint32_t max_tokens = 256;
    // slide: the first pinned_tokens and the newest half of the rest stay, and are computed anew as a prompt
    // of these tokens; draws go on with the number of the token among all that ever were.
    ContextPolicy context_policy = ContextPolicy::stop;
    uint32_t pinned_tokens = 0;
    SamplerOptions sampler;
    std::vector<std::string> stop_strings;
    std::vector<int32_t> stop_ids;
    bool ignore_eos = false;   // end-of-generation tokens are tokens like others; stop_ids still stop
    uint64_t deadline_ns = 0;  // looked at between steps; 0: none
    int32_t priority = 0;      // higher ones are served first and keep their pages longer
    // What it has when it ends stays until its handle is destroyed, unless it ends with an error. With
    // max_tokens 0 the prompt is computed for that.
    bool keep_state = false;
    uint32_t turn = 1;       // of its conversation
    std::optional<Slo> slo;  // unset: the engine's
    // Of sequences whose pages came from outside: they share pages only among their own kind.
    uint64_t cache_key = 0;
    // Entry of the call, where that was before Engine::submit; empty: now.
    std::optional<uint64_t> submitted_ns;
    DraftSource drafts = DraftSource::automatic;
    uint32_t max_drafts = 0;  // in a step; 0: as many as are sensible
    // A draft is accepted by the classic rule of speculative sampling (see keep_or_redraw): the same
    // distribution, but not the tokens that come without drafts.
    bool reject_drafts = false;
    std::function<bool(const Event&)> on_event;  // false cancels; empty: events are pulled
    std::function<void()> on_release;            // once, after the last callback
};

class RequestState;  // shared by the engine's worker and the handle (request_state.h)

// The submitter's end. Destroying it cancels and returns after the last callback (inside the request's own
// callback the end is deferred); then on_release runs once.
class Request {
public:
    explicit Request(std::shared_ptr<RequestState> state);
    ~Request();
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    // Pull: timed_out; invalid_state after the finished event, with a callback set, or inside a callback.
    Result<Event> next(uint64_t timeout_ns);
    Status wait(uint64_t timeout_ns);
    // Pulls to the end and gives each event to on_event on this thread; after a false only the finished event
    // follows.
    Status pump(const std::function<bool(const Event&)>& on_event);
    void cancel();
    Status status() const;  // ok while it runs
    FinishReason finish_reason() const;
    TimingSummary timing() const;
    Timeline timeline() const;
    const Slo& slo() const;                       // its own or the engine's
    uint64_t number() const;                      // among those of the engine, from 1
    std::span<const int32_t> prompt_ids() const;  // immutable after submit
    std::string_view backend_name() const;

private:
    friend class Engine;
    std::shared_ptr<RequestState> state_;  // null until it is queued: nothing to cancel or release
};

}  // namespace takt
