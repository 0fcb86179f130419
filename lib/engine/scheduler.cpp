// Fills the buffers of a step; the phase is a property of each row, never of the batch.
#include "engine/scheduler.h"

namespace takt {

StepBuilder::StepBuilder(uint32_t max_rows, uint32_t max_sequences) {
    tokens_.reserve(max_rows);
    wanted_.reserve(max_rows);
    sequences_.reserve(max_sequences);
}

void StepBuilder::clear() {
    tokens_.clear();
    wanted_.clear();
    sequences_.clear();
}

void StepBuilder::add(uint64_t sequence, const SequencePages& pages, std::span<const int32_t> rows,
                      uint32_t first_position, OutputWanted last_wanted) {
    const auto n_rows = static_cast<uint32_t>(rows.size());
    BatchSequence entry;
    entry.sequence = sequence;
    entry.first_row = this->n_rows();
    entry.n_rows = n_rows;
    entry.first_position = first_position;
    entry.block_tables = pages.tables();
    sequences_.push_back(entry);
    tokens_.insert(tokens_.end(), rows.begin(), rows.end());
    wanted_.insert(wanted_.end(), n_rows, OutputWanted::none);
    wanted_.back() = last_wanted;
}

void StepBuilder::add_rows(RunningRequest& request, uint32_t n_rows) {
    request.first_row = this->n_rows();
    request.n_rows = n_rows;
    request.rows_were_prefill = request.in_prefill();
    const std::span<const int32_t> rows =
        std::span<const int32_t>(request.tokens).subspan(request.n_computed, n_rows);
    const bool is_last = request.n_computed + n_rows == request.tokens.size();
    add(request.sequence, *request.pages, rows, request.n_computed,
        is_last ? request.wanted() : OutputWanted::none);
}

void StepBuilder::add_decode_rows(RunningRequest& request, uint32_t n_drafts) {
    add_rows(request, 1);
    request.n_drafts = n_drafts;
    if (n_drafts == 0) return;
    request.n_rows += n_drafts;
    sequences_.back().n_rows += n_drafts;
    const auto begin = request.drafts->ids.begin();
    tokens_.insert(tokens_.end(), begin, begin + n_drafts);
    wanted_.insert(wanted_.end(), n_drafts, wanted_.back());
}

void StepBuilder::build(const EvaluationJob& job, uint32_t rows) {
    clear();
    const Evaluation& evaluation = *job.evaluation;
    job.pages->cover(evaluation.n_computed(),
                     evaluation.n_computed() + rows);  // set aside when it was admitted
    const std::span<const int32_t> ids =
        std::span<const int32_t>(evaluation.plan().ids).subspan(evaluation.n_computed(), rows);
    add(evaluation.plan().sequence, *job.pages, ids, evaluation.n_computed(), OutputWanted::none);
    for (uint32_t i = 0; i < rows; ++i) {
        if (evaluation.n_computed() + i >= evaluation.plan().first_position)
            wanted_[i] = OutputWanted::logits;
    }
}

}  // namespace takt
