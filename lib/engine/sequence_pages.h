// The block tables of one sequence, one a state group: grown ahead of a step, freed behind a window, returned
// at the end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/step_batch.h"
#include "engine/page_pool.h"
#include "program/program.h"

namespace takt {

// Pages that a group holds at most for a sequence of n_tokens positions that is computed max_rows at a time.
uint32_t worst_case_pages(const StateGroup& group, uint64_t n_tokens, uint32_t page_tokens,
                          uint32_t max_rows);

class SequencePages {
public:
    // Sizes the tables, so that nothing is allocated later. groups and pools outlive this.
    SequencePages(std::span<const StateGroup> groups, std::vector<PagePool>& pools, uint32_t page_tokens,
                  uint64_t n_tokens, uint32_t max_rows);
    ~SequencePages() { release(); }
    SequencePages(const SequencePages&) = delete;
    SequencePages& operator=(const SequencePages&) = delete;

    // From here on one thread, that of the pools.
    bool reserve();  // the worst case of all groups, or nothing
    // Makes positions [0, n_positions) reachable, of a window group those that rows from first_row_position
    // on can see.
    void cover(uint32_t first_row_position, uint32_t n_positions);
    std::span<const BlockTable> tables() const { return views_; }
    void release();

private:
    struct Table {
        uint32_t window = 0, worst_case = 0;
        uint32_t first_held = 0, n_covered = 0;  // entries
        std::vector<uint32_t> pages;             // kNoPage where nothing is held
    };
    std::vector<PagePool>& pools_;
    uint32_t page_tokens_;
    bool reserved_ = false;
    std::vector<Table> tables_;
    std::vector<BlockTable> views_;
};

}  // namespace takt
