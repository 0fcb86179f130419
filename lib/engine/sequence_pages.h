// The block tables of one sequence, one a state group: begun with pages that others computed, grown ahead of
// a step, copied before they are written if others hold them too, freed behind a window, published when full,
// returned at the end. In a recurrent group the table is one page, a slot, which holds the state at one
// position: a published one is a snapshot.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/step_batch.h"
#include "base/status.h"
#include "engine/page_pool.h"
#include "engine/page_waste.h"
#include "program/program.h"

namespace takt {

constexpr uint32_t pages_for(uint64_t n_tokens, uint32_t page_tokens) {
    return static_cast<uint32_t>((n_tokens + page_tokens - 1) / page_tokens);
}

// Pages that a group holds at most for a sequence of n_tokens positions that is computed max_rows at a time.
uint32_t worst_case_pages(const StateGroup& group, uint64_t n_tokens, uint32_t page_tokens,
                          uint32_t max_rows);

// A page of a group that a sequence has for itself from now on, once it is copied.
struct PageCopy {
    uint32_t group = 0, from = 0, to = 0;
};

// sequence_prefix.cpp holds what goes by the tokens: reuse(), publish(), rows_to_snapshot().
class SequencePages {
public:
    // Sizes the tables, so that nothing is allocated later. groups and pools outlive this. cache_key:
    // sequences of another key share no pages.
    SequencePages(std::span<const StateGroup> groups, std::vector<PagePool>& pools, uint32_t page_tokens,
                  uint64_t n_tokens, uint32_t max_rows, uint64_t cache_key = 0);
    ~SequencePages() { release(); }
    SequencePages(const SequencePages&) = delete;
    SequencePages& operator=(const SequencePages&) = delete;

    // From here on one thread, that of the pools.

    // Sets the worst case of all groups aside, or nothing: cover() then never fails. promised: pages of
    // groups without a window that are spoken for and not yet taken, here and in has_room().
    bool reserve(uint32_t promised = 0);
    // ids here and in publish(): all tokens of the sequence, which only grow until start_over().

    // Before anything is covered: takes part in the longest run of full pages that is known for these ids,
    // shorter than all of them so that a row is left to compute; recurrent state must be known at its end.
    // Returns the positions that need no computing.
    uint32_t reuse(std::span<const int32_t> ids);
    // The same with the pages of a sequence that has the same tokens there: its first n_positions, as far as
    // a row behind them can see. False, and nothing is taken, if they aren't all there any more, or its
    // recurrent state stands elsewhere.
    bool share(const SequencePages& other, uint32_t n_positions);
    // The same with pages of its own, which someone fills. out_of_memory, and nothing is taken, if they lack.
    Status take_for(uint32_t n_positions);
    // Whether pages for n_tokens positions, of window groups for a step from first_row_position up to
    // step_end, would leave `spare` in every pool.
    bool has_room(uint32_t n_tokens, uint32_t first_row_position, uint32_t step_end, uint32_t spare,
                  uint32_t promised = 0) const;
    // Pages that groups without a window still lack for n_tokens positions, each of them.
    uint32_t n_missing(uint32_t n_tokens) const;
    // Where has_room() says no: how many pages lack, in a sentence.
    Status lack_of_room(uint32_t n_tokens, uint32_t first_row_position, uint32_t step_end) const;
    // Makes positions [0, n_positions) reachable, of a window group those that rows from first_row_position
    // on can see, and those from first_row_position on fit to be written. False if pages lack; what was
    // covered stays.
    bool cover(uint32_t first_row_position, uint32_t n_positions);
    // Pages to be copied, in this order, before anything is written and before another sequence is covered.
    std::span<const PageCopy> copies() const { return copies_; }
    void copied() { copies_.clear(); }
    // Recurrent state, where there is any, is that behind the first n_positions.
    void stand_at(uint32_t n_positions) { position_ = n_positions; }
    bool is_recurrent() const { return recurrent_; }
    // How many of n_rows to compute so that they end where a snapshot can be taken: at the last page boundary
    // they reach. All of them without recurrent state.
    uint32_t rows_to_snapshot(uint32_t first_row_position, uint32_t n_rows) const;
    // Makes pages findable that the first n_committed of the ids have filled since the last call, and
    // recurrent state that stands there, if that is a page boundary.
    void publish(std::span<const int32_t> ids, uint32_t n_committed);
    std::span<const BlockTable> tables() const { return views_; }
    uint32_t n_reachable() const;  // positions that every group's pages reach
    // Its part of the pages of groups without a window, and what is in them if n_tokens positions are
    // computed.
    PageUse use(uint32_t n_tokens) const;
    void release();
    // For other tokens than before: release(), and nothing is known of them.
    void start_over() {
        release();
        hashes_.clear();
    }

private:
    struct Table {
        bool recurrent = false;
        uint32_t window = 0, worst_case = 0;
        uint32_t first_held = 0, n_covered = 0;  // entries
        std::vector<uint32_t> pages;             // kNoPage where nothing is held
        std::vector<uint32_t> reserved;          // set aside
        bool is_full() const { return window == 0 && !recurrent; }
    };
    uint32_t n_lacking(size_t group, uint32_t first_row_position, uint32_t end_position) const;
    bool make_writable(size_t group, uint32_t first_row_position, uint32_t n_positions);
    bool grow(size_t group, uint32_t n_positions);
    uint32_t first_needed(const Table& table, uint32_t first_row_position) const;
    uint32_t take(size_t group);
    void give_back(size_t group, uint32_t page);
    std::span<const int32_t> ids_of(std::span<const int32_t> ids, uint32_t page) const;
    uint64_t hash_of(std::span<const int32_t> ids, uint32_t page);
    uint32_t find(size_t group, std::span<const int32_t> ids, uint32_t page);
    uint32_t n_known_pages(std::span<const int32_t> ids, uint32_t most);
    bool is_known_behind(std::span<const int32_t> ids, uint32_t n_pages);
    void share_page(size_t group, uint32_t entry, uint32_t page);
    void publish_slots(std::span<const int32_t> ids, uint32_t n_committed);
    bool lacks_slot(size_t group) const;
    bool take_slot(size_t group);

    std::vector<PagePool>& pools_;
    uint32_t page_tokens_;
    uint64_t cache_key_;
    bool reserved_ = false, recurrent_ = false;
    uint32_t position_ = 0;  // of the recurrent state
    std::vector<Table> tables_;
    std::vector<BlockTable> views_;
    std::vector<PageCopy> copies_;
    std::vector<uint64_t> hashes_;  // of the tokens up to the end of each full page, as far as known
    uint32_t n_published_ = 0;      // pages
};

}  // namespace takt
