// Where the rows of a step stand and what is wanted of them: the bookkeeping that every executable needs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/step_batch.h"
#include "base/status.h"

namespace takt {

class BatchRows {
public:
    struct Place {
        uint32_t sequence, position;  // index into the batch's sequences
    };

    // Sized once: place() allocates nothing.
    explicit BatchRows(const CompileOptions& options);
    void place(const StepBatch& batch);

    std::span<const Place> places() const { return places_; }       // per row of the batch
    std::span<const uint32_t> outputs() const { return outputs_; }  // rows with something wanted, ascending
    // What commit() must check: the sequence was in the last step, with at least so many rows.
    Status check_commit(uint64_t sequence, uint32_t rows_kept) const;

    struct LastRun {
        uint64_t sequence;
        uint32_t n_rows;
    };
    std::span<const LastRun> last_run() const { return last_run_; }  // as the batch's sequences stood

private:
    std::vector<Place> places_;
    std::vector<uint32_t> outputs_;
    std::vector<LastRun> last_run_;
};

// Index of the sequence in the last run, for a commit() where recurrent state is kept: of the rows no more
// may be left out than can be undone.
Result<uint32_t> recurrent_commit(const BatchRows& rows, uint64_t sequence, uint32_t rows_kept);

bool anyone_wants(const StepBatch& batch, OutputWanted what);

// What copy_page() must check: the group and both pages exist.
Status check_page_copy(const Program& program, const CompileOptions& options, uint32_t group,
                       uint32_t from_page, uint32_t to_page);

// One page over another in a buffer that holds n_pages of equal size.
void copy_page_bytes(std::span<std::byte> buffer, uint32_t n_pages, uint32_t from_page, uint32_t to_page);

}  // namespace takt
