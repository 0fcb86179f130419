// Tracks: 0 is the engine with its steps, each request has one of its number with its phases and rows.
#include "engine/step_trace.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace takt {
namespace {

constexpr uint32_t kRowsPerStep =
    4;  // places in the ring of rows, for steps of more than that fewer are kept

class Events {
public:
    explicit Events(const std::string& process) {
        json_.begin_object();
        json_.member("displayTimeUnit", "ms");
        json_.key("traceEvents");
        json_.begin_array();
        name("process_name", 0, process);
        name("thread_name", 0, "steps");
    }
    void name(std::string_view kind, uint64_t track, const std::string& text) {
        json_.begin_object();
        json_.member("ph", "M");
        json_.member("name", kind);
        json_.member("pid", 0);
        json_.member("tid", track);
        json_.key("args");
        json_.begin_object();
        json_.member("name", text);
        json_.end_object();
        json_.end_object();
    }
    // arguments(json) writes members.
    template <typename Arguments>
    void span(const std::string& name, std::string_view category, uint64_t track, uint64_t begin_ns,
              uint64_t end_ns, Arguments arguments) {
        json_.begin_object();
        json_.member("ph", "X");
        json_.member("name", name);
        json_.member("cat", category);
        json_.member("pid", 0);
        json_.member("tid", track);
        json_.member("ts", static_cast<double>(begin_ns) * 1e-3);
        json_.member("dur", static_cast<double>(elapsed_ns(begin_ns, end_ns)) * 1e-3);
        json_.key("args");
        json_.begin_object();
        arguments(json_);
        json_.end_object();
        json_.end_object();
    }
    std::string finish() {
        json_.end_array();
        json_.end_object();
        return json_.take();
    }

private:
    JsonWriter json_;
};

std::string name_of(const StepRecord& step) {
    if (step.prefill_rows == 0) return fmt::format("decode {}", step.decode_rows);
    if (step.decode_rows == 0) return fmt::format("prefill {}", step.prefill_rows);
    return fmt::format("prefill {} + decode {}", step.prefill_rows, step.decode_rows);
}

}  // namespace

StepTrace::Kept::Kept(uint32_t n_steps, uint32_t max_sequences) {
    steps.items.resize(n_steps);
    ended.items.resize(n_steps);
    rows.items.resize(size_t{n_steps} * std::min(kRowsPerStep, max_sequences) +
                      (n_steps > 0 ? max_sequences : 0));
}

StepTrace::StepTrace(uint32_t n_steps, uint32_t max_sequences)
    : n_steps_(n_steps), max_sequences_(max_sequences), kept_(n_steps, max_sequences) {}

// Its memory comes before the lock, and texts are made of it after: the worker waits for the copying alone.
StepTrace::Kept StepTrace::copy() const {
    Kept copy(n_steps_, max_sequences_);
    const std::lock_guard lock(mutex_);
    copy = kept_;
    return copy;
}

void StepTrace::record(const StepRecord& step, std::span<const std::unique_ptr<RunningRequest>> running) {
    if (kept_.steps.items.empty()) return;
    const std::lock_guard lock(mutex_);
    Step entry{step, kept_.rows.n, 0};
    for (const std::unique_ptr<RunningRequest>& request : running) {
        if (!request || request->n_rows == 0) continue;
        kept_.rows.put({request->sequence, request->n_rows, request->n_drafts,
                        static_cast<uint32_t>(request->outcome.tokens.size()), request->rows_were_prefill});
        ++entry.n_rows;
    }
    kept_.steps.put(entry);
}

void StepTrace::record_end(const RunningRequest& request, FinishReason reason, uint64_t end_ns) {
    if (kept_.ended.items.empty()) return;
    const Timeline& timeline = request.timeline();
    Ended ended{request.sequence,
                timeline.submitted_ns,
                timeline.scheduled_ns.value_or(end_ns),
                end_ns,
                end_ns,
                end_ns,
                timeline.prompt_tokens,
                timeline.cached_tokens,
                0,
                reason};
    if (!timeline.steps.empty()) {
        ended.first_token_ns = timeline.steps.front().sampled_ns;
        ended.last_token_ns = timeline.steps.back().sampled_ns;
    }
    ended.generated_tokens = request.n_generated();
    const std::lock_guard lock(mutex_);
    kept_.ended.put(ended);
}

std::string StepTrace::json(const std::string& process) const {
    Events events(process);
    const Kept kept = copy();
    for (size_t i = 0; i < kept.ended.size(); ++i) {
        const Ended& r = kept.ended.from_oldest(i);
        events.name("thread_name", r.request, fmt::format("request {}", r.request));
        events.span("queue", "phase", r.request, r.submitted_ns, r.scheduled_ns, [](JsonWriter&) {});
        events.span("prefill", "phase", r.request, r.scheduled_ns, r.first_token_ns, [&](JsonWriter& json) {
            json.member("prompt_tokens", r.prompt_tokens);
            json.member("cached_tokens", r.cached_tokens);
        });
        events.span("decode", "phase", r.request, r.first_token_ns, r.last_token_ns, [&](JsonWriter& json) {
            json.member("generated_tokens", r.generated_tokens);
            json.member("finished_reason", finish_reason_name(r.reason));
        });
    }
    for (size_t i = 0; i < kept.steps.size(); ++i) {
        const Step& step = kept.steps.from_oldest(i);
        const StepRecord& record = step.record;
        events.span(name_of(record), "step", 0, record.begin_ns, record.end_ns, [&](JsonWriter& json) {
            json.member("index", record.index);
            json.member("generated_tokens", record.generated_tokens);
            json.member("prefill_budget", record.prefill_budget);
            json.member("n_running", record.n_running);
            json.member("n_waiting", record.n_waiting);
        });
        for (uint32_t k = 0; k < step.n_rows; ++k) {
            const uint64_t place = step.first_rows + k;
            if (kept.rows.n - place > kept.rows.items.size()) continue;  // overwritten
            const Rows& rows = kept.rows.items[place % kept.rows.items.size()];
            events.span(rows.prefill ? fmt::format("prefill {}", rows.n_rows) : "decode", "rows",
                        rows.request, record.begin_ns, record.end_ns, [&](JsonWriter& json) {
                            json.member("rows", rows.n_rows);
                            json.member("drafts", rows.n_drafts);
                            json.member("tokens", rows.n_tokens);
                        });
        }
    }
    return events.finish();
}

}  // namespace takt
