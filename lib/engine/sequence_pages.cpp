// Page arithmetic of one sequence.
#include "engine/sequence_pages.h"

#include <algorithm>

#include <fmt/format.h>

namespace takt {

uint32_t worst_case_pages(const StateGroup& group, uint64_t n_tokens, uint32_t page_tokens,
                          uint32_t max_rows) {
    if (group.recurrent) return 1;
    const uint32_t all = pages_for(n_tokens, page_tokens);
    if (group.window == 0) return all;
    // The window and the rows of one step, plus a page that begins before them.
    return std::min(all, pages_for(uint64_t{group.window} + max_rows, page_tokens) + 1);
}

SequencePages::SequencePages(std::span<const StateGroup> groups, std::vector<PagePool>& pools,
                             uint32_t page_tokens, uint64_t n_tokens, uint32_t max_rows, uint64_t cache_key)
    : pools_(pools), page_tokens_(page_tokens), cache_key_(cache_key) {
    for (const StateGroup& group : groups) {
        Table& table = tables_.emplace_back();
        table.recurrent = group.recurrent;
        table.window = group.window;
        table.worst_case = worst_case_pages(group, n_tokens, page_tokens, max_rows);
        table.pages.assign(group.recurrent ? 1 : pages_for(n_tokens, page_tokens), kNoPage);
        table.reserved.reserve(table.worst_case);
        recurrent_ = recurrent_ || group.recurrent;
    }
    for (const Table& table : tables_) views_.push_back(table.pages);
    hashes_.reserve(n_tokens / page_tokens);
    copies_.reserve(tables_.size());  // of each group one at most: the page that a shared start ends in
}

bool SequencePages::reserve(uint32_t promised) {
    for (size_t g = 0; g < tables_.size(); ++g) {
        const uint64_t others = tables_[g].is_full() ? promised : 0;
        if (pools_[g].n_available() < tables_[g].worst_case + others) return false;
    }
    for (size_t g = 0; g < tables_.size(); ++g) {
        for (uint32_t i = 0; i < tables_[g].worst_case; ++i) tables_[g].reserved.push_back(pools_[g].take());
    }
    reserved_ = true;
    return true;
}

uint32_t SequencePages::take(size_t group) {
    std::vector<uint32_t>& reserved = tables_[group].reserved;
    if (!reserved_) return pools_[group].take();
    if (reserved.empty()) return kNoPage;
    const uint32_t page = reserved.back();
    reserved.pop_back();
    return page;
}

void SequencePages::give_back(size_t group, uint32_t page) {
    if (reserved_) {
        tables_[group].reserved.push_back(page);
    } else {
        pools_[group].give_back(page);
    }
}

// The first entry that rows from this position on can see.
uint32_t SequencePages::first_needed(const Table& table, uint32_t first_row_position) const {
    if (table.window == 0 || first_row_position < table.window) return 0;
    return (first_row_position - table.window + 1) / page_tokens_;
}

void SequencePages::share_page(size_t group, uint32_t entry, uint32_t page) {
    tables_[group].pages[entry] = page;
    pools_[group].share(page);
}

bool SequencePages::share(const SequencePages& other, uint32_t n_positions) {
    const uint32_t end = pages_for(n_positions, page_tokens_);
    for (const Table& from : other.tables_) {
        if (from.recurrent) {
            if (from.pages[0] == kNoPage || other.position_ != n_positions) return false;
        } else if (from.n_covered < end || from.first_held > first_needed(from, n_positions)) {
            return false;
        }
    }
    for (size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        const std::vector<uint32_t>& from = other.tables_[g].pages;
        if (table.recurrent) {
            share_page(g, 0, from[0]);
            continue;
        }
        table.first_held = first_needed(table, n_positions);
        table.n_covered = end;
        for (uint32_t page = table.first_held; page < end; ++page) share_page(g, page, from[page]);
    }
    stand_at(n_positions);
    return true;
}

Status SequencePages::take_for(uint32_t n_positions) {
    if (!has_room(n_positions, n_positions, n_positions, 0))
        return lack_of_room(n_positions, n_positions, n_positions);
    for (size_t g = 0; g < tables_.size(); ++g) {
        tables_[g].first_held = tables_[g].n_covered = first_needed(tables_[g], n_positions);
        grow(g, n_positions);
    }
    stand_at(n_positions);
    return {};
}

Status SequencePages::lack_of_room(uint32_t n_tokens, uint32_t first_row_position, uint32_t step_end) const {
    size_t group = 0;
    uint32_t need = 0;
    for (size_t g = 0; g < tables_.size(); ++g) {
        group = g;
        need = n_lacking(g, first_row_position, tables_[g].is_full() ? n_tokens : step_end);
        if (need > pools_[g].n_available()) break;
    }
    if (tables_[group].recurrent) {
        return Status(StatusCode::out_of_memory,
                      fmt::format("The recurrent state of {} tokens needs a slot, {} of {} are free.",
                                  n_tokens, pools_[group].n_available(), pools_[group].n_pages()));
    }
    return Status(
        StatusCode::out_of_memory,
        fmt::format("Keys and values of {} tokens need {} pages of {} positions, {} of {} are free.",
                    n_tokens, need, page_tokens_, pools_[group].n_available(), pools_[group].n_pages()));
}

uint32_t SequencePages::n_lacking(size_t group, uint32_t first_row_position, uint32_t end_position) const {
    const Table& table = tables_[group];
    if (table.recurrent) return lacks_slot(group) ? 1 : 0;
    const uint32_t end = pages_for(end_position, page_tokens_),
                   first = std::max(table.n_covered, first_needed(table, first_row_position)),
                   written = first_row_position / page_tokens_;
    const bool copies = written >= table.first_held && written < table.n_covered &&
                        !pools_[group].may_write(table.pages[written]);
    return (end > first ? end - first : 0) + (copies ? 1 : 0);
}

bool SequencePages::has_room(uint32_t n_tokens, uint32_t first_row_position, uint32_t step_end,
                             uint32_t spare, uint32_t promised) const {
    for (size_t g = 0; g < tables_.size(); ++g) {
        const bool full = tables_[g].is_full();
        const uint64_t lacking = n_lacking(g, first_row_position, full ? n_tokens : step_end),
                       others = (full ? promised : 0) + (tables_[g].recurrent ? 0 : spare);
        if (pools_[g].n_available() < lacking + others) return false;
    }
    return true;
}

bool SequencePages::grow(size_t group, uint32_t n_positions) {
    Table& table = tables_[group];
    if (table.recurrent) return take_slot(group);
    for (; table.n_covered < pages_for(n_positions, page_tokens_); ++table.n_covered) {
        const uint32_t page = take(group);
        if (page == kNoPage) return false;
        table.pages[table.n_covered] = page;
    }
    return true;
}

uint32_t SequencePages::n_missing(uint32_t n_tokens) const {
    const uint32_t end = pages_for(n_tokens, page_tokens_);
    uint32_t n = 0;
    for (const Table& table : tables_) {
        if (table.is_full() && end > table.n_covered) n = std::max(n, end - table.n_covered);
    }
    return n;
}

bool SequencePages::cover(uint32_t first_row_position, uint32_t n_positions) {
    for (size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        if (table.recurrent) {
            if (!take_slot(g)) return false;
            continue;
        }
        for (const uint32_t needed = std::min(first_needed(table, first_row_position), table.n_covered);
             table.first_held < needed; ++table.first_held) {
            give_back(g, table.pages[table.first_held]);
            table.pages[table.first_held] = kNoPage;
        }
        if (!make_writable(g, first_row_position, n_positions) || !grow(g, n_positions)) return false;
    }
    return true;
}

// Copy-on-write: whoever writes first takes a page of its own, the others keep theirs as it is.
bool SequencePages::make_writable(size_t group, uint32_t first_row_position, uint32_t n_positions) {
    if (reserved_) return true;
    Table& table = tables_[group];
    const uint32_t end = std::min(table.n_covered, pages_for(n_positions, page_tokens_));
    for (uint32_t i = first_row_position / page_tokens_; i < end; ++i) {
        const uint32_t page = table.pages[i];
        if (pools_[group].may_write(page)) continue;
        const uint32_t own = pools_[group].take();
        if (own == kNoPage) return false;
        copies_.push_back({static_cast<uint32_t>(group), page, own});
        pools_[group].give_back(page);
        table.pages[i] = own;
    }
    return true;
}

// A published one that nobody else holds can be written in need: see take_slot().
bool SequencePages::lacks_slot(size_t group) const {
    const uint32_t slot = tables_[group].pages[0];
    return slot == kNoPage || pools_[group].is_shared(slot);
}

// Makes the group's slot one that may be written. False if none is free.
bool SequencePages::take_slot(size_t group) {
    PagePool& pool = pools_[group];
    uint32_t& slot = tables_[group].pages[0];
    if (slot == kNoPage) {
        slot = take(group);
        return slot != kNoPage;
    }
    if (reserved_ || pool.may_write(slot)) return true;
    const uint32_t own = pool.take();
    if (own != kNoPage) {
        copies_.push_back({static_cast<uint32_t>(group), slot, own});
        pool.give_back(slot);
        slot = own;
        return true;
    }
    if (pool.is_shared(slot)) return false;
    pool.withdraw(slot);  // rather a snapshot less than a request that waits
    return true;
}

uint32_t SequencePages::n_reachable() const {
    uint32_t n = ~0u;
    for (const Table& table : tables_) {
        if (!table.recurrent) n = std::min(n, table.n_covered * page_tokens_);
    }
    return n;
}

PageUse SequencePages::use(uint32_t n_tokens) const {
    PageUse use;
    for (size_t g = 0; g < tables_.size(); ++g) {
        if (!tables_[g].is_full()) continue;
        for (uint32_t page = 0; page < tables_[g].n_covered; ++page) {
            const double part = 1.0 / pools_[g].n_references(tables_[g].pages[page]);
            const uint32_t begin = std::min(n_tokens, page * page_tokens_);
            use.pages += part;
            use.tokens += part * std::min(n_tokens - begin, page_tokens_);
        }
    }
    return use;
}

void SequencePages::release() {
    for (size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        // From the end, so that of a prefix its end is the first to be forgotten.
        for (size_t i = table.pages.size(); i-- > 0;) {
            if (table.pages[i] != kNoPage) pools_[g].give_back(table.pages[i]);
            table.pages[i] = kNoPage;
        }
        for (const uint32_t page : table.reserved) pools_[g].give_back(page);
        table.reserved.clear();
        table.first_held = table.n_covered = 0;
    }
    reserved_ = false;
    n_published_ = position_ = 0;
    copies_.clear();
}

}  // namespace takt
