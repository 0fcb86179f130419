// The keys of these lines are a promise: add, never change.
#include "answer.h"

#include "report.h"
#include "system.h"

namespace cli {

void AnswerPrinter::token(const takt::Event& event) {
    text_ += event.text;
    ids_.push_back(event.raw.token_id);
    if (!json_) return write_stdout(event.text);
    Json line;
    line["event"] = "token";
    line["index"] = event.raw.token_index;
    line["id"] = event.raw.token_id;
    line["text"] = event.text;
    line["ready_ns"] = event.raw.ready_ns;
    line["computed_ns"] = event.raw.computed_ns;
    line["delivered_ns"] = event.raw.delivered_ns;
    line["compute_ns"] = event.raw.compute_ns;
    line["step_rows"] = event.raw.step_rows;
    if (event.raw.gap.total_ns > 0) line["gap"] = gap_json(event.raw.gap);
    write_stdout(json_line(line));
}

void AnswerPrinter::finished(const takt::Event& event) {
    text_ += event.text;
    message_ = event.message;
    status_ = event.raw.status;
    if (!json_) write_stdout(event.text);
}

void AnswerPrinter::finish(const takt_timing& timing, const std::vector<int32_t>& prompt_ids) {
    if (!json_) return;
    Json line;
    line["event"] = "finished";
    line["reason"] = takt_finish_reason_name(timing.finish_reason);
    if (status_ != TAKT_OK) {
        line["status"] = takt_status_name(status_);
        line["message"] = message_;
    } else if (!message_.empty()) {
        line["message"] = message_;  // why the context is full
    }
    line["prompt_ids"] = prompt_ids;
    line["ids"] = ids_;
    line["text"] = text_;
    line["timing"] = timing_json(timing);
    write_stdout(json_line(line));
}

}  // namespace cli
