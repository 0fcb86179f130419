// A step being put together from rows of requests.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/step_batch.h"
#include "engine/evaluation.h"
#include "engine/running_request.h"

namespace takt {

// Buffers of one step batch, sized once; a batch is a view of them.
class StepBuilder {
public:
    StepBuilder(uint32_t max_rows, uint32_t max_sequences);

    void clear();
    // The next n_rows of the request, whose pages cover them. Sets its first_row and n_rows.
    void add_rows(RunningRequest& request, uint32_t n_rows);
    // Its last token and the first n_drafts of its drafts, something wanted of each. Sets n_drafts too.
    void add_decode_rows(RunningRequest& request, uint32_t n_drafts);
    // Rows of a text that stands elsewhere; of the last one something is wanted.
    void add(uint64_t sequence, const SequencePages& pages, std::span<const int32_t> rows,
             uint32_t first_position, OutputWanted last_wanted);
    void build(const EvaluationJob& job, uint32_t rows);
    bool empty() const { return tokens_.empty(); }
    uint32_t n_rows() const { return static_cast<uint32_t>(tokens_.size()); }
    StepBatch batch() const { return {tokens_, wanted_, sequences_}; }

private:
    std::vector<int32_t> tokens_;
    std::vector<OutputWanted> wanted_;
    std::vector<BatchSequence> sequences_;
};

}  // namespace takt
