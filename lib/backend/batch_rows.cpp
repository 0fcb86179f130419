// Rows are listed in the order of the batch; a commit is held against the step that was run last.
#include "backend/batch_rows.h"

#include <algorithm>

#include <fmt/format.h>

namespace takt {

BatchRows::BatchRows(const CompileOptions& options) {
    places_.reserve(options.max_rows);
    outputs_.reserve(options.max_output_rows);
    last_run_.reserve(options.max_sequences);
}

void BatchRows::place(const StepBatch& batch) {
    places_.clear();
    outputs_.clear();
    last_run_.clear();
    for (uint32_t s = 0; s < batch.sequences.size(); ++s) {
        const BatchSequence& sequence = batch.sequences[s];
        for (uint32_t i = 0; i < sequence.n_rows; ++i) places_.push_back({s, sequence.first_position + i});
        last_run_.push_back({sequence.sequence, sequence.n_rows});
    }
    for (uint32_t row = 0; row < batch.wanted.size(); ++row) {
        if (batch.wanted[row] != OutputWanted::none) outputs_.push_back(row);
    }
}

Status BatchRows::check_commit(uint64_t sequence, uint32_t rows_kept) const {
    const auto last = std::ranges::find(last_run_, sequence, &LastRun::sequence);
    if (last == last_run_.end()) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("Sequence {} was not in the last step.", sequence));
    }
    if (rows_kept <= last->n_rows) return {};  // the engine holds the length, and pages need no undoing
    return Status(StatusCode::invalid_argument, fmt::format("Sequence {} ran {} rows, {} can't be kept.",
                                                            sequence, last->n_rows, rows_kept));
}

Result<uint32_t> recurrent_commit(const BatchRows& rows, uint64_t sequence, uint32_t rows_kept) {
    TAKT_RETURN_IF_ERROR(rows.check_commit(sequence, rows_kept));
    const auto last = std::ranges::find(rows.last_run(), sequence, &BatchRows::LastRun::sequence);
    if (const uint32_t n_undone = last->n_rows - rows_kept; n_undone > kMaxUndoneRows) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("Sequence {}: {} of {} rows are left out, recurrent state goes back {}.",
                                  sequence, n_undone, last->n_rows, kMaxUndoneRows));
    }
    return static_cast<uint32_t>(last - rows.last_run().begin());
}

bool anyone_wants(const StepBatch& batch, OutputWanted what) {
    return std::ranges::find(batch.wanted, what) != batch.wanted.end();
}

Status check_page_copy(const Program& program, const CompileOptions& options, uint32_t group,
                       uint32_t from_page, uint32_t to_page) {
    if (group >= program.groups.size()) {
        return Status(
            StatusCode::invalid_argument,
            fmt::format("State group {} doesn't exist, the program has {}.", group, program.groups.size()));
    }
    const uint32_t n_pages = options.n_pages[group];
    if (from_page < n_pages && to_page < n_pages) return {};
    return Status(StatusCode::invalid_argument,
                  fmt::format("Page {} can't be copied to page {}, group {} has {} pages.", from_page,
                              to_page, program.groups[group].name, n_pages));
}

void copy_page_bytes(std::span<std::byte> buffer, uint32_t n_pages, uint32_t from_page, uint32_t to_page) {
    if (from_page == to_page) return;
    const size_t page_bytes = buffer.size() / n_pages;
    std::ranges::copy(buffer.subspan(from_page * page_bytes, page_bytes),
                      buffer.begin() + static_cast<ptrdiff_t>(to_page * page_bytes));
}

}  // namespace takt
